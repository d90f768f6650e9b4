"""A small project folder: the real Snakefile and rules, a tiny paper on digits."""

import shutil
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests import forked

ROOT = Path(__file__).parent.parent
Refuses = Callable[..., AbstractContextManager[Any]]  # the type of the fixture `refuses`

PAPER = """
title: A tiny paper
authors: Nobody
settings: {model: {mlp: {hidden: 4}}, clients: 10, participation: 0.2, rounds: 2, lr: 0.1}
levels:
  dataset: {Digits: {dataset: digits}}
  method:
    FedAvg: {parts: []}
    FedProx: {parts: [{fedprox: {mu: 0.1}}]}
  alpha: {each: {partition: {dr: {alpha: $}}}}
grids:
  main:
    axes: {dataset: [Digits], alpha: [1], method: [FedAvg, FedProx]}
    seeds: [0, 1]
  again: {axes: {dataset: [Digits], alpha: [1], method: [FedAvg]}, seeds: [0]}
tables:
  table1: {title: Table I, grid: main, rows: [dataset, alpha], columns: [method]}
  table2: {title: Table II, grid: again, rows: [dataset, alpha], columns: [method]}
figures:
  fig1: {title: Fig. 1, grid: main, where: {alpha: 1}}
"""
PRINTED = """table,dataset,setting,method,metric,mean,std
table1,Digits,alpha=1,FedAvg,accuracy,90.0,1.0
table1,Digits,alpha=1,FedProx,accuracy,91.0,1.0
table2,Digits,alpha=1,FedAvg,accuracy,90.0,1.0
"""


def make_project(folder: Path, paper: str = PAPER, printed: str = PRINTED) -> Path:
    """The project in `folder`, with a scale 'paper' that changes nothing."""
    for name in ("Snakefile", "environment.yml"):
        shutil.copy(ROOT / name, folder / name)
    for name in ("workflow/rules", "workflow/schemas", "profiles"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "workflow/config.yaml", folder / "workflow/config.yaml")
    for name in ("papers", "scales"):
        (folder / "workflow" / name).mkdir()
    (folder / "workflow/papers/tiny.yaml").write_text(paper)
    (folder / "workflow/papers/tiny.printed.csv").write_text(printed)
    (folder / "workflow/scales/paper.yaml").write_text("about: As printed.\n")
    return folder


def snakemake(
    folder: Path, *args: str, check: bool = True, python: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """`snakemake --cores 1 ARGS` in `folder`; its output, and a failed test if it should pass.

    With more cores more processes train. Python is one that is forked, unless another is named,
    which then has its own Snakemake; the rules call the Python of Snakemake.
    """
    python = python or forked.python()
    command = [python, "-P", "-m", "snakemake", "--cores", "1", *args]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if check and done.returncode:
        pytest.fail(done.stdout + done.stderr)
    return done


def jobs(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """The 'Job stats' table of a (dry) run."""
    text = done.stdout + done.stderr
    lines = text.split("Job stats:")[1].splitlines()[3:] if "Job stats:" in text else []
    table = {}
    for line in lines:
        if not line.strip():
            break
        name, count = line.split()
        table[name] = int(count)
    return table

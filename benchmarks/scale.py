"""Times the commands over thousands of runs, and says how much memory they take.

    python benchmarks/scale.py FOLDER [--runs 10000] [--planned 100000]

Writes two projects into the folder: one whose runs are all finished, each with ten evaluated rounds
of twelve metrics that are made up, and one whose runs are only planned. Then times `fedbench` over
the first and the dry run of Snakemake over the second. What is there already is kept, but for
MLflow's database.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from fedbench import RunSpec
from fedbench.base.files import write_text
from fedbench.plan.plan import make_plan
from fedbench.plan.plan_file import planned_file, write_plan
from fedbench.store import Results

ROOT = Path(__file__).parent.parent
METHODS = ("fedprox", "scaffold", "fednova", "feddyn", "moon", "fedadam", "fedyogi", "fedacg")
METRICS = 12
SCALE = "paper"
COMMANDS = (
    f"plan --scale {SCALE}",
    f"collect many --plan {{plan}} --out results/{SCALE}/many.parquet",
    f"track --scale {SCALE}",
    f"track --scale {SCALE}",
    f"report --scale {SCALE}",
    f"status --scale {SCALE}",
)
DRY_RUN = f"-n --quiet all --cores 2 reproduce_tables --config scale={SCALE}"
ENV = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
CHECKSUM = hashlib.sha256(b"digits").hexdigest()


def make_project(folder: Path, runs: int) -> None:
    """A project with one paper that has so many runs, or a few more."""
    shutil.copytree(ROOT / "workflow", folder / "workflow", dirs_exist_ok=True)
    shutil.rmtree(folder / "workflow/papers")
    shutil.copy(ROOT / "Snakefile", folder)
    shutil.copy(ROOT / "environment.yml", folder)
    (folder / "workflow/papers").mkdir()
    (folder / "workflow/papers/many.yaml").write_text(yaml.safe_dump(paper(runs), sort_keys=False))
    (folder / "workflow/scales/paper.yaml").write_text("about: As printed.\n")


def paper(runs: int) -> dict[str, object]:
    """The paper's file: 200 cells of each seed, and at most 100 seeds in a grid."""
    settings = {"model": "lenet5", "clients": 100, "participation": 0.1, "rounds": 100, "lr": 0.1}
    axes = {"dataset": ["Digits"], "alpha": list(range(1, 26)), "method": list(METHODS)}
    rows = {"rows": ["dataset", "alpha"], "columns": ["method"]}
    seeds = list(range(-(-runs // 200)))
    grids = [seeds[first : first + 100] for first in range(0, len(seeds), 100)]
    return {
        "title": "Many runs",
        "authors": "Nobody",
        "settings": settings | {"eval_every": 10},
        "levels": {
            "dataset": {"Digits": {"dataset": "digits"}},
            "method": {name: {"parts": [name]} for name in METHODS},
            "alpha": {"each": {"partition": {"dr": {"alpha": "$"}}}},
        },
        "grids": {f"grid{n}": {"axes": axes, "seeds": each} for n, each in enumerate(grids)},
        "tables": {
            f"table{n}": {"title": "All", "grid": f"grid{n}"} | rows for n in range(len(grids))
        },
    }


def finish(results: Path, spec: RunSpec) -> None:
    """Write the folder of a finished run."""
    rng = np.random.default_rng(spec.seed)
    rounds = list(range(spec.eval_every, spec.rounds + 1, spec.eval_every))
    history = pd.DataFrame({"round": rounds, "accuracy": rng.uniform(0.5, 1, len(rounds))})
    for n in range(METRICS - 1):
        history[f"metric_{n}"] = rng.normal(size=len(rounds))
    clients = pd.DataFrame({"client": [0], "label": [7], "count": [3]})
    Results(results).run(spec.id).finish(record(spec), history, {}, {"clients": clients})
    Results(results).stamp(spec.id).touch()


def record(spec: RunSpec) -> dict[str, object]:
    """What a run says of itself, as far as it is read again."""
    return {
        **{"id": spec.id, "status": "finished", "rounds": spec.rounds},
        **{"settings": spec.settings(), "resolved": spec.model_dump(mode="json")},
        **{"seconds": {"train": 1.5}, "sample_passes": 8, "device": "cpu"},
        "data": {"name": "digits", "checksum": CHECKSUM},
    }


def finish_all(folder: Path) -> None:
    """Write the folders of all runs that are not there yet, and the facts of their data set."""
    results = folder / "results"
    plan = make_plan(folder / "workflow", SCALE)
    write_plan(plan, results)
    for spec in plan.runs.values():
        if not Results(results).run(spec.id).has_record():
            finish(results, spec)
    facts = {"name": "digits", "origin": {}, "checksum": CHECKSUM}
    write_text(Results(results).data("digits"), json.dumps(facts))


def timed(folder: Path, *words: str) -> str:
    """The seconds, those of a core, and the memory of a command, which must end well."""
    before = time.perf_counter()
    log = folder / "log"
    with log.open("w") as stream:
        process = subprocess.Popen(words, cwd=folder, stdout=stream, stderr=stream, env=ENV)  # noqa: S603
        _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(words)}:\n{log.read_text()[-2000:]}")
    seconds = time.perf_counter() - before
    cores = used.ru_utime + used.ru_stime
    memory = used.ru_maxrss / 1024
    return f"{' '.join(words[2:])}: {seconds:.1f} s, {cores:.1f} s of a core, {memory:.0f} MB"


def main() -> None:
    """Print a line per command."""
    args = _arguments()
    finished, planned = args.folder / "finished", args.folder / "planned"
    for folder, runs in ((finished, args.runs), (planned, args.planned)):
        if not folder.exists():
            make_project(folder, runs)
    finish_all(finished)
    Results(finished / "results").database.unlink(missing_ok=True)
    plan = planned_file(finished / "results", SCALE).relative_to(finished)
    for command in COMMANDS:
        words = command.format(plan=plan).split()
        print(timed(finished, sys.executable, "-m", "fedbench", *words), flush=True)
    print(timed(planned, sys.executable, "-m", "snakemake", *DRY_RUN.split()), flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--planned", type=int, default=100_000)
    return parser.parse_args()


if __name__ == "__main__":
    main()

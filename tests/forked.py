"""Snakemake, forked from a process that has imported it: a second in place of four per start."""

import atexit
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(
    ["tests.forked", "snakemake.cli", "fedbench.plan.outlook", "fedbench.jobs.display"]
)


def snakemake(
    args: Sequence[str], folder: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """`snakemake ARGS`, typed in the folder."""
    with tempfile.TemporaryDirectory() as place:
        said = [f"{place}/stdout", f"{place}/stderr"]
        process = _SERVER.Process(target=_main, args=(args, folder, environment, said))
        process.start()
        process.join()
        out, err = (Path(file).read_text(encoding="utf-8") for file in said)
    return subprocess.CompletedProcess(args, process.exitcode or 0, out, err)


def _main(
    args: Sequence[str], folder: Path, environment: dict[str, str], said: Sequence[str]
) -> None:
    for number, file in enumerate(said, 1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["snakemake", *args]
    from snakemake.cli import main

    try:
        main()
    finally:
        atexit._run_exitfuncs()  # a process of multiprocessing would leave them out

"""Starts the workflow for a command that ends in a report."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import typer
from platformdirs import user_cache_dir

from fedbench.base.errors import FedbenchError
from fedbench.base.files import require_writable
from fedbench.base.plugins import project
from fedbench.data.source import data_folder


def reproduce(cores: str, **config: object) -> None:
    """`snakemake reproduce_all` with these settings, those that are empty left out.

    Exits with Snakemake's code if it fails.
    """
    from fedbench.jobs.status import COMMAND

    typed = {COMMAND: shlex.join(["fedbench", *sys.argv[1:]])}
    snakefile = str((project() / "Snakefile").resolve())
    command = [sys.executable, "-P", "-m", "snakemake", "-s", snakefile, "--cores", cores]
    with TemporaryDirectory() as folder:
        # in a file: of text after --config Snakemake takes 2024 for a number, # for a comment
        file = Path(folder, "config.json")
        file.write_text(json.dumps({name: str(value) for name, value in config.items() if value}))
        command += ["reproduce_all", "--configfile", str(file)]
        with _stopped_in_order():
            env = os.environ | typed | _cache(folder)
            done = subprocess.run(command, check=False, env=env)  # noqa: S603
    if done.returncode:
        raise typer.Exit(done.returncode)


def _cache(instead: str) -> dict[str, str]:
    """The variables that give Snakemake another folder for its cache where it cannot write to it.

    Its first act is to make that folder, in the user's home. The data are left where they were.
    """
    try:
        require_writable(Path(user_cache_dir("snakemake", "snakemake")))
    except FedbenchError:
        return {"XDG_CACHE_HOME": instead, "FEDBENCH_DATA": str(data_folder().absolute())}
    return {}


@contextmanager
def _stopped_in_order() -> Iterator[None]:
    """Let Snakemake end by itself when a signal comes, or its folder would stay locked.

    Ctrl-C reaches it without this process; `kill`, which does not, is handed on.
    """
    handlers = {signal.SIGINT: _leave, signal.SIGTERM: _hand_on}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(_: int, __: object) -> None:
    """Do nothing; unlike a signal that is ignored, this does not hold for Snakemake too."""


def _hand_on(number: int, _: object) -> None:
    for child in psutil.Process().children():
        with suppress(psutil.Error):  # it has just ended
            child.send_signal(number)

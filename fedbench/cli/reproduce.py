"""Starts the workflow for a command that ends in a report."""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from fedbench.base.plugins import project


def reproduce(cores: str, **config: object) -> None:
    """`snakemake reproduce_all` with these settings, those that are empty left out.

    Exits with Snakemake's code if it fails.
    """
    snakefile = str((project() / "Snakefile").resolve())
    command = [sys.executable, "-m", "snakemake", "-s", snakefile, "--cores", cores]
    with TemporaryDirectory() as folder:
        # in a file: of text after --config Snakemake takes 2024 for a number, # for a comment
        file = Path(folder, "config.json")
        file.write_text(json.dumps({name: str(value) for name, value in config.items() if value}))
        command += ["reproduce_all", "--configfile", str(file)]
        done = subprocess.run(command, check=False)  # noqa: S603
    if done.returncode:
        raise typer.Exit(done.returncode)

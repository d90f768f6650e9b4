"""Starts the workflow for a command that ends in a report."""

import subprocess
import sys

import typer

from fedbench.base.plugins import project


def reproduce(cores: str, **config: object) -> None:
    """`snakemake reproduce_all` with these settings, those that are empty left out.

    Exits with Snakemake's code if it fails.
    """
    settings = [f"{name}={value}" for name, value in config.items() if value]
    snakefile = str((project() / "Snakefile").resolve())
    command = [sys.executable, "-m", "snakemake", "-s", snakefile, "--cores", cores]
    done = subprocess.run([*command, "reproduce_all", "--config", *settings], check=False)  # noqa: S603
    if done.returncode:
        raise typer.Exit(done.returncode)

"""The workflow: where it is, its start, its lock, a folder for it, its results as they travel."""

import json
import os
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from fedbench.base.errors import FedbenchError
from fedbench.base.files import exists, require_writable, write_text
from fedbench.base.plugins import project
from fedbench.base.signals import handled
from fedbench.base.yamlfile import split
from fedbench.cli import options
from fedbench.cli.app import Panel, app, console, print_line

PUBLISHED = Path("results/published")
_NAMED = 3  # missing runs that are named
_EXAMPLE = Path(str(resources.files("fedbench.cli"))) / "example"
_PROFILE = "profiles/slurm/config.yaml"  # where a cluster's account and partition are named
_STARTED = "Where the workflow was started. Default: the working folder."
_PAPERS = "Names of papers. Default: all papers."
_ALSO = "The same, separated by commas. Default: all papers."
_EXPORTS = f"Folders that `fedbench export` wrote, or tables of runs there. Default: {PUBLISHED}."
_FILES = ("README.md", "methods/shrink.py", "papers/mine.yaml", _PROFILE)


@app.command(rich_help_panel=Panel.results)
def workflow() -> None:
    """Print the path of the Snakefile: snakemake -s "$(fedbench workflow)" --cores all."""
    print((project() / "Snakefile").resolve())


@app.command(rich_help_panel=Panel.results)
def unlock(
    folder: Annotated[Path, typer.Argument(help=_STARTED, show_default=False)] = Path(),
) -> None:
    """Free the folder of a workflow that was killed; refused while one still runs there."""
    from fedbench.jobs.workflow_start_and_end import unlock as free

    console.print("the folder is free" if free(folder) else "the folder was not locked")


@app.command(rich_help_panel=Panel.results)
def init(
    folder: Annotated[Path, typer.Argument(help="The folder to write to; made if it is missing.")],
) -> None:
    """Write a folder with a method, a paper, a README and a SLURM profile, to run and change."""
    for name in _FILES:
        if exists(folder / name):
            raise FedbenchError(f"{folder / name}: is there already, and is not overwritten")
    for name in _FILES:
        source = project() if name == _PROFILE else _EXAMPLE
        write_text(folder / name, (source / name).read_text(encoding="utf-8"))
    print_line(f"{len(_FILES)} files; read {folder / _FILES[0]}")


def reproduce(cores: str, again: object = "", **config: object) -> None:
    """`snakemake reproduce_all` with the settings that are not empty; fails with its exit code.

    It ends by itself when a signal comes, or its folder would stay locked. again: what is said to
    go on from a failure, if not the command that was typed.
    """
    import psutil

    from fedbench.jobs.status import COMMAND

    def hand_on(number: int, _: object) -> None:
        for child in psutil.Process().children():
            with suppress(psutil.Error):  # it has just ended
                child.send_signal(number)

    typed = {COMMAND: str(again) or shlex.join(["fedbench", *sys.argv[1:]])}
    snakefile = str((project() / "Snakefile").resolve())
    command = [sys.executable, "-P", "-m", "snakemake", "-s", snakefile, "--cores", cores]
    # Ctrl-C reaches it without this process, `kill` does not. Unlike a signal that is ignored, one
    # that does nothing does not hold for Snakemake too
    handlers = {signal.SIGINT: lambda *_: None, signal.SIGTERM: hand_on}
    with TemporaryDirectory() as folder, handled(handlers):
        # in a file: of text after --config Snakemake takes 2024 for a number, # for a comment
        file = Path(folder, "config.json")
        file.write_text(json.dumps({name: str(value) for name, value in config.items() if value}))
        command += ["reproduce_all", "--configfile", str(file)]
        env = os.environ | typed | _cache(folder)
        done = subprocess.run(command, check=False, env=env)  # noqa: S603
    if done.returncode:
        raise typer.Exit(done.returncode)


def _cache(instead: str) -> dict[str, str]:
    """The variables that give Snakemake another cache where it cannot write; data stay in place."""
    from platformdirs import user_cache_dir

    from fedbench.data.source import data_folder

    try:  # Snakemake's first act is to make that folder, in the user's home
        require_writable(Path(user_cache_dir("snakemake", "snakemake")))
    except FedbenchError:
        return {"XDG_CACHE_HOME": instead, "FEDBENCH_DATA": str(data_folder().absolute())}
    return {}


@app.command(rich_help_panel=Panel.results)
def export(
    papers: Annotated[list[str] | None, typer.Argument(help=_PAPERS)] = None,
    also: Annotated[str, typer.Option("--papers", help=_ALSO)] = "",
    scale: options.Scale = "demo",
    workflow: options.Workflow = options.WORKFLOW,
    results: options.Results = options.RESULTS,
    out: Annotated[Path, typer.Option(help="Folder of the papers' folders.")] = PUBLISHED,
) -> None:
    """Publish the finished runs of a scale as tables in a folder for each paper, without weights.

    Files that are there stay as they are: what is new goes into files of today. They also hold what
    a report needs beside the runs: the facts of data sets and the winners of searches.
    """
    from fedbench.jobs import export_and_restore
    from fedbench.plan.plan import make_plan

    plan = make_plan(workflow, scale, (*(papers or ()), *split(also)))
    for paper in plan.papers:
        done = export_and_restore.export(plan, paper, results, out)
        line = f"{done.folder}: {done.held:,} of {done.planned:,} planned runs"
        line += f", and {done.others:,} of other plans" if done.others else ""
        size = sum(file.stat().st_size for file in done.files) / 1e6
        line += f"; {done.new:,} new, {size:.2f} MB" if done.files else "; nothing is new"
        more = len(done.missing) - _NAMED
        line += f"; missing: {', '.join(done.missing[:_NAMED])}" if done.missing else ""
        line += f" and {more:,} more" if more > 0 else ""
        if done.unknown:
            line += f"; without the facts of the data sets {', '.join(done.unknown)}"
        print_line(line)


@app.command(rich_help_panel=Panel.results)
def restore(
    files: Annotated[list[Path] | None, typer.Argument(help=_EXPORTS)] = None,
    results: options.Results = options.RESULTS,
) -> None:
    """Turn published files back into runs, so that the workflow trains none of them.

    Runs that are there already stay as they are; one that is there with another content is refused,
    and so is one of another version of fedbench whose numbers would differ.
    """
    from fedbench.jobs import export_and_restore

    done = export_and_restore.restore(export_and_restore.exports_in(files or [PUBLISHED]), results)
    told = f"runs restored: {done.written:,}; there already: {done.there:,}"
    if done.outdated:
        told += f"; left out, since no plan asks for them any more: {done.outdated:,}"
    console.print(told)

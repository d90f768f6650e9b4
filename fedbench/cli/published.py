"""The commands `export` and `restore`: results that travel without their weights."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbench.base.yamlfile import split
from fedbench.cli.app import Panel, ResultsFolder, Scale, WorkflowFolder, app, console, sentences

if TYPE_CHECKING:  # other commands must not wait for what this one needs
    from fedbench.jobs.export import Exported

_PUBLISHED = Path("results/published")
_NAMED = 3  # missing runs that are named


@app.command(rich_help_panel=Panel.results)
def export(
    papers: Annotated[
        list[str] | None, typer.Argument(help="Names of papers. Default: all papers.")
    ] = None,
    also: Annotated[
        str, typer.Option("--papers", help="The same, separated by commas. Default: all papers.")
    ] = "",
    scale: Scale = "demo",
    workflow: WorkflowFolder = Path("workflow"),
    results: ResultsFolder = Path("results"),
    out: Annotated[Path, typer.Option(help="Folder of the files to write.")] = _PUBLISHED,
) -> None:
    """Pack the finished runs of a scale into a file for each paper, without weights.

    Files that are there stay as they are: what is new goes into a file of today. It also holds what
    a report needs beside the runs: the facts of data sets and the winners of searches.
    """
    with sentences():
        from fedbench.jobs.export import export as pack
        from fedbench.plan.plan import make_plan

        plan = make_plan(workflow, scale, (*(papers or ()), *split(also)))
        for paper in plan.papers:
            console.print(_line(pack(plan, paper, results, out)), soft_wrap=True)


def _line(done: "Exported") -> str:
    """What the file holds, and which planned runs are missing."""
    size = f", {done.file.stat().st_size / 1e6:.2f} MB" if done.packed + done.others else ""
    line = f"{done.file}: {done.packed:,} of {done.planned:,} planned runs{size}"
    if done.others:
        line += f", and {done.others:,} of other plans"
    if done.missing:
        more = len(done.missing) - _NAMED
        line += f"; missing: {', '.join(done.missing[:_NAMED])}"
        line += f" and {more:,} more" if more > 0 else ""
    if done.unknown:
        line += f"; without the facts of the data sets {', '.join(done.unknown)}"
    return line


@app.command(rich_help_panel=Panel.results)
def restore(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Files that `fedbench export` wrote, or folders of such files. "
            f"Default: {_PUBLISHED}."
        ),
    ] = None,
    results: ResultsFolder = Path("results"),
) -> None:
    """Turn published files back into runs, so that the workflow trains none of them.

    Runs that are there already stay as they are; one that is there with another content is refused,
    and so is one of another version of fedbench whose numbers would differ.
    """
    with sentences():
        from fedbench.jobs.restore import published_files
        from fedbench.jobs.restore import restore as unpack

        done = unpack(published_files(files or [_PUBLISHED]), results)
    told = f"runs restored: {done.written:,}; there already: {done.there:,}"
    if done.outdated:
        told += f"; left out, since what they use gives other numbers by now: {done.outdated:,}"
    console.print(told)

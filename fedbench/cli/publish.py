"""The commands `export` and `restore`: results that travel without their weights."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbench.base.yamlfile import split
from fedbench.cli import options
from fedbench.cli.app import Panel, app, console, print_line

if TYPE_CHECKING:  # other commands must not wait for what this one needs
    from fedbench.jobs.publish import Exported

PUBLISHED = Path("results/published")
_NAMED = 3  # missing runs that are named


@app.command(rich_help_panel=Panel.results)
def export(
    papers: Annotated[
        list[str] | None, typer.Argument(help="Names of papers. Default: all papers.")
    ] = None,
    also: Annotated[
        str, typer.Option("--papers", help="The same, separated by commas. Default: all papers.")
    ] = "",
    scale: options.Scale = "demo",
    workflow: options.Workflow = options.WORKFLOW,
    results: options.Results = options.RESULTS,
    out: Annotated[Path, typer.Option(help="Folder of the papers' folders.")] = PUBLISHED,
) -> None:
    """Publish the finished runs of a scale as tables in a folder for each paper, without weights.

    Files that are there stay as they are: what is new goes into files of today. They also hold what
    a report needs beside the runs: the facts of data sets and the winners of searches.
    """
    from fedbench.jobs.publish import export as publish
    from fedbench.plan.plan import make_plan

    plan = make_plan(workflow, scale, (*(papers or ()), *split(also)))
    for paper in plan.papers:
        print_line(_exported(publish(plan, paper, results, out)))


def _exported(done: "Exported") -> str:
    line = f"{done.folder}: {done.held:,} of {done.planned:,} planned runs"
    if done.others:
        line += f", and {done.others:,} of other plans"
    size = sum(file.stat().st_size for file in done.files) / 1e6
    line += f"; {done.new:,} new, {size:.2f} MB" if done.files else "; nothing is new"
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
            help="Folders that `fedbench export` wrote, or tables of runs in these. "
            f"Default: {PUBLISHED}."
        ),
    ] = None,
    results: options.Results = options.RESULTS,
) -> None:
    """Turn published files back into runs, so that the workflow trains none of them.

    Runs that are there already stay as they are; one that is there with another content is refused,
    and so is one of another version of fedbench whose numbers would differ.
    """
    from fedbench.jobs.publish import exports_in
    from fedbench.jobs.publish import restore as bring_back

    done = bring_back(exports_in(files or [PUBLISHED]), results)
    told = f"runs restored: {done.written:,}; there already: {done.there:,}"
    if done.outdated:
        told += f"; left out, since no plan asks for them any more: {done.outdated:,}"
    console.print(told)

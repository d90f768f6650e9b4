"""The command `arena`: your own methods beside all others, under the same conditions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbench.base.yamlfile import split
from fedbench.cli.app import (
    DataFolder,
    Device,
    Panel,
    ResultsFolder,
    Scale,
    app,
    console,
    sentences,
)
from fedbench.cli.reproduce import reproduce

if TYPE_CHECKING:  # other commands must not wait for what this one needs
    from fedbench.plan.plan import Plan

_PAPER = "arena"
_WITH = (
    "Methods of your own folder, separated by commas: only their runs are trained, and of the "
    "other methods finished runs are shown. Without it the runs of all methods are trained."
)


@app.command(rich_help_panel=Panel.papers)
def arena(
    own: Annotated[str, typer.Option("--with", metavar="METHODS", help=_WITH)] = "",
    scale: Scale = "demo",
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Say what all methods cost, and yours alone; train nothing."),
    ] = False,
    cores: Annotated[str, typer.Option(help="Cores to use: a number or 'all'.")] = "all",
    device: Device = "auto",
    results: ResultsFolder = Path("results"),
    reports: Annotated[Path, typer.Option(help="Folder of the report.")] = Path("reports"),
    data_dir: DataFolder = None,
) -> None:
    """Let a method of your own meet all others under the same conditions, on one page.

    A search tries the same learning rates for every method, and up to three values of its main
    parameter if it has one; at scale demo nothing is searched. Published runs of the arena are
    restored first, if there are any, so that only what is not finished is trained.
    """
    with sentences():
        from fedbench.base.plugins import project
        from fedbench.plan.plan import make_plan

        whole = make_plan(project() / "workflow", scale, (_PAPER,))
        train = ",".join(split(own)) or "all"
        chosen = whole.to_train(train)
        if plan:
            alone = [(f"{', '.join(split(own))} alone", chosen)] if own else []
            _show_costs(whole, alone, results, data_dir)
            return
        restored = _restore(whole, results)
        before = _finished(chosen, results)
        reproduce(
            cores,
            **{"papers": _PAPER, "scale": scale, "train": train, "device": device},
            **{"results": results, "reports": reports, "data_dir": data_dir},
        )
        _say(whole, results, len(_finished(chosen, results) - before), restored)
    console.print(f"The page: {reports}/{scale}/{_PAPER}.html", soft_wrap=True)


def _show_costs(
    whole: "Plan", alone: list[tuple[str, "Plan"]], results: Path, data_dir: Path | None
) -> None:
    from fedbench.base.plugins import project
    from fedbench.cli.costs import print_costs

    print_costs(whole, project() / "workflow", results, data_dir, alone)


def _restore(whole: "Plan", results: Path) -> int:
    """Restore the published runs that are planned and not finished here; returns how many."""
    from fedbench.base.plugins import project
    from fedbench.jobs.publish import exports_of, restore
    from fedbench.plan.data import data_key

    places = (exports_of(_PAPER, folder / "results/published") for folder in (Path(), project()))
    published = next(filter(None, places), [])
    if not published:
        return 0
    data = {data_key(run.dataset) for run in whole.runs.values()}
    left = whole.runs.keys() - _finished(whole, results)
    return restore(published, results, {*left, *whole.trials, *data}).written


def _finished(plan: "Plan", results: Path) -> set[str]:
    from fedbench.store import Results

    return {run_id for run_id in plan.runs if Results(results).run(run_id).record() is not None}


def _say(whole: "Plan", results: Path, trained: int, restored: int) -> None:
    """How many runs were trained and restored, and how many methods have none yet."""
    said = f"{trained:,} runs trained" + (f", {restored:,} restored" if restored else "")
    finished = _finished(whole, results)
    methods = {str(cell.coords["method"]) for cell in whole.cells}
    shown = {str(cell.coords["method"]) for cell in whole.cells if cell.run_id in finished}
    if absent := len(methods - shown):
        said += (
            f"; {absent} of {len(methods)} methods have no run at this scale yet, which "
            f"`fedbench arena --scale {whole.scale}` trains"
        )
    console.print(f"{said}.", soft_wrap=True)

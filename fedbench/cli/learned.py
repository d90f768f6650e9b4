"""The command `learned`: whether the tables of a scale mean something."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.table import Table

from fedbench.base.errors import FedbenchError
from fedbench.base.yamlfile import split
from fedbench.cli.app import (
    Panel,
    Papers,
    ResultsFolder,
    Scale,
    WorkflowFolder,
    app,
    console,
    sentences,
)

if TYPE_CHECKING:  # other commands must not wait for what this one needs
    from fedbench.report.learned import Learned


@app.command(rich_help_panel=Panel.papers)
def learned(
    scale: Scale = "demo",
    papers: Papers = "",
    workflow: WorkflowFolder = Path("workflow"),
    results: ResultsFolder = Path("results"),
) -> None:
    """Say whether the runs of a scale learn, by table; the exit code is 1 if they do not.

    FedAvg's best accuracy should be well above that of always guessing the test set's largest
    class: 30 % with 10 equal classes, 4 % with 100, 65 % with two, where α or δ is at least 0.3,
    clients have 3 classes or data are IID; a quarter of that gain is enough in a table of more
    skewed settings alone. At most a tenth of the runs may end near guessing. In half of the tables
    methods should differ by more than seeds do (standard deviations in percentage points).
    """
    with sentences():
        from fedbench.plan.plan import make_plan
        from fedbench.report.learned import NEAR_SHARE, near_chance
        from fedbench.report.learned import learned as judged

        plan = make_plan(workflow, scale, split(papers))
        tables = judged(plan, results)
        near, runs = near_chance(plan, results)
        if not runs:
            raise FedbenchError(
                f"{results}: no run of scale '{scale}' is collected; train some first"
            )
    console.print(_table(tables))
    apart = sum(table.tells_methods_apart for table in tables)
    weak = [table.name for table in tables if not table.learns]
    console.print(f"{len(weak)} of {len(tables)} tables learn too little: {', '.join(weak) or '–'}")
    console.print(f"{len(near)} of {runs} runs end near guessing")
    console.print(f"in {apart} of {len(tables)} tables methods differ by more than seeds do")
    if weak or len(near) > NEAR_SHARE * runs or 2 * apart < len(tables):
        raise typer.Exit(1)


def _table(tables: "list[Learned]") -> Table:
    shown = Table("table", "judged by", "best, %", "guessing, %", "wanted, %", "methods", "seeds")
    for each in tables:
        shown.add_row(each.name, each.judged_by, *_numbers(each))
    return shown


def _numbers(each: "Learned") -> Iterator[str]:
    yield f"{100 * each.best:.1f}"
    yield f"{100 * each.guess:.1f}"
    yield f"{100 * each.wanted:.1f}"
    for spread in (each.methods, each.seeds):
        yield "" if spread is None else f"{spread:.1f}"

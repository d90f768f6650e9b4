"""The command `learned`: whether the tables of a scale mean something."""

import typer

from fedbench.base.errors import FedbenchError
from fedbench.base.yamlfile import split
from fedbench.cli import options
from fedbench.cli.app import Panel, app, console, table_of


@app.command(rich_help_panel=Panel.papers)
def learned(
    scale: options.Scale = "demo",
    papers: options.Papers = "",
    workflow: options.Workflow = options.WORKFLOW,
    results: options.Results = options.RESULTS,
) -> None:
    """Say whether the runs of a scale learn, by table; the exit code is 1 if they do not.

    FedAvg's best accuracy should be well above that of always guessing the test set's largest
    class: 30 % with 10 equal classes, 4 % with 100, 65 % with two, where α or δ is at least 0.3,
    clients have 3 classes or data are IID; a quarter of that gain is enough in a table of more
    skewed settings alone. At most a tenth of the runs may end near guessing. In half of the tables
    methods should differ by more than seeds do (standard deviations in percentage points).
    """
    from fedbench.plan.plan import make_plan
    from fedbench.report.learning import judge

    found = judge(make_plan(workflow, scale, split(papers)), results)
    if not found.runs:
        raise FedbenchError(f"{results}: no run of scale '{scale}' is collected; train some first")
    console.print(
        table_of(
            {
                "table": each.name,
                "judged by": each.judged_by,
                "best, %": f"{100 * each.best:.1f}",
                "guessing, %": f"{100 * each.guess:.1f}",
                "wanted, %": f"{100 * each.wanted:.1f}",
                "methods": "" if each.methods is None else f"{each.methods:.1f}",
                "seeds": "" if each.seeds is None else f"{each.seeds:.1f}",
            }
            for each in found.tables
        )
    )
    weak, tables = ", ".join(found.weak) or "–", len(found.tables)
    console.print(f"{len(found.weak)} of {tables} tables learn too little: {weak}")
    console.print(f"{len(found.near_chance)} of {found.runs} runs end near guessing")
    console.print(f"in {found.apart} of {tables} tables methods differ by more than seeds do")
    if not found.holds:
        raise typer.Exit(1)

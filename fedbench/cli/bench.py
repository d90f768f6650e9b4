"""The command `bench`: many methods on one setting, with an equal search and one leaderboard."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedbench.base.yamlfile import read_value, split
from fedbench.cli.app import DataFolder, Device, Panel, ResultsFolder, app, console, sentences
from fedbench.cli.reproduce import reproduce

if TYPE_CHECKING:  # other commands must not wait for what this one needs
    from fedbench.paper.bench import Bench
    from fedbench.plan.plan import Plan

_Methods = Annotated[
    str,
    typer.Option(
        help="What is compared, separated by commas: names as `fedbench list methods` shows them, "
        "several joined by +, or a name of your own with a list, '{mine: [MOON, {fedsam: {rho: "
        "0.1}}]}'; 'all' is every named method."
    ),
]
_DataSets = Annotated[
    list[str] | None,
    typer.Option(
        help="A data set, as in a run's settings; may be given several times. Default: digits."
    ),
]
_Partitions = Annotated[
    list[str] | None,
    typer.Option(
        help="A partition, such as '{dl: {alpha: 0.1}}'; may be given several times. Default: iid."
    ),
]
_Seeds = Annotated[int, typer.Option(min=1, help="How many seeds, from 0 on.")]
_Tune = Annotated[
    list[str] | None,
    typer.Option(
        help="A setting that is searched for every method alike, with the values to try: "
        "lr=0.01,0.1; may be given several times. Values are scored on held-out training data."
    ),
]
_Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="setting=value, for all runs: rounds=50; may be given several times."
    ),
]
_Metric = Annotated[str, typer.Option(help="What methods are ranked by.")]
_Targets = Annotated[
    str,
    typer.Option(
        help="Scores, separated by commas, such as 0.5,0.8: what does it take to reach them?"
    ),
]
_Out = Annotated[
    Path,
    typer.Option(
        help="Folder for the file with the comparison and its report; its name is the comparison's."
    ),
]
_Cores = Annotated[str, typer.Option(help="Cores to use: a number or 'all'.")]
_PlanOnly = Annotated[
    bool, typer.Option("--plan", help="Write the file, say what it costs, train nothing.")
]


@app.command(rich_help_panel=Panel.papers)
def bench(
    methods: _Methods,
    dataset: _DataSets = None,
    partition: _Partitions = None,
    seeds: _Seeds = 3,
    tune: _Tune = None,
    settings: _Settings = None,
    metric: _Metric = "accuracy",
    targets: _Targets = "",
    out: _Out = Path("bench"),
    cores: _Cores = "all",
    device: Device = "auto",
    plan: _PlanOnly = False,
    results: ResultsFolder = Path("results"),
    data_dir: DataFolder = None,
) -> None:
    """Compare methods on the same data with an equal search, and write one leaderboard.

    Writes papers/<name>.yaml in a folder, then trains and reports it as any paper: finished runs
    are used again, and a longer list of methods trains only the new ones.
    """
    with sentences():
        from fedbench.base.yamlfile import parse
        from fedbench.paper.bench import Bench, chosen_methods, grids_of

        comparison = Bench(
            methods=chosen_methods(methods),
            datasets=_values(dataset, "digits"),
            partitions=_values(partition, "iid"),
            settings=parse(settings or []),
            seeds=seeds,
            tune=grids_of(tune or []),
            metric=metric,
            targets=[_score(metric, text) for text in split(targets)],
        )
        planned = _planned(comparison, out, results, data_dir)
        if not plan:
            places = {"data_dir": data_dir, "results": results, "reports": out / "reports"}
            reproduce(cores, papers=out.name, scale="paper", device=device, **places)
            _show_board(planned, out, results)


def _write(comparison: "Bench", out: Path) -> None:
    """Write the comparison as a paper's file, where papers are looked for from now on."""
    from fedbench.base.plugins import search_also
    from fedbench.paper.bench import write_bench
    from fedbench.paper.paper import require_paper_name

    require_paper_name("the folder's name", out.name, out)
    write_bench(comparison, out / "papers" / f"{out.name}.yaml")
    search_also(out)


def _values(texts: list[str] | None, usual: str) -> list[Any]:
    return [read_value(text) for text in texts or [usual]]


def _score(metric: str, text: str) -> float:
    """A target; raises `FedbenchError` on one that no run can reach."""
    from fedbench.base.errors import at
    from fedbench.paper.notation import reading

    with at("--targets"):
        target = reading(f"round@to:{metric}={text}").target
    return target.value if target else 0.0


def _planned(comparison: "Bench", out: Path, results: Path, data_dir: Path | None) -> "Plan":
    """The plan of the comparison, after writing its file and printing what it costs."""
    from fedbench.base.plugins import project
    from fedbench.cli.costs import print_costs
    from fedbench.plan.plan import make_plan

    _write(comparison, out)
    workflow = project() / "workflow"
    plan = make_plan(workflow, "paper", (out.name,))
    print_costs(plan, workflow, results, data_dir)
    return plan


def _show_board(plan: "Plan", out: Path, results: Path) -> None:
    from fedbench.cli.board import boards

    for board in boards(plan, (out.name, "leaderboard"), results, console.width):
        console.print(board)
    console.print(f"With curves: {out}/reports/paper/{out.name}.html", soft_wrap=True)

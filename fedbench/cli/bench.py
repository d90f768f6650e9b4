"""The commands `bench` and `arena`: methods meet on the same settings after an equal search.

Both train a paper that compares methods and show its leaderboard: `bench` writes the file of that
paper from its options, `arena` takes the one that comes with fedbench.
"""

from pathlib import Path
from typing import Annotated

import typer

from fedbench.base.plugins import project
from fedbench.base.yamlfile import parse, read_value, split
from fedbench.cli import options
from fedbench.cli.app import Panel, app, console, print_line
from fedbench.cli.comparison import planned, prepare
from fedbench.cli.plan import print_costs

_METHODS = (
    "What is compared, separated by commas: names as `fedbench list methods` shows them, several "
    "joined by +, or a name of your own with a list, '{mine: [MOON, {fedsam: {rho: 0.1}}]}'; 'all' "
    "is every named method."
)
_DATASET = "A data set, as in a run's settings; may be given several times. Default: digits."
_PARTITION = "A partition, such as dl:alpha=0.1; may be given several times. Default: iid."
_TUNE = (
    "A setting that is searched for every method alike, with the values to try: lr=0.01,0.1; may "
    "be given several times. Values are scored on held-out training data."
)
_SET = "setting=value, for all runs: rounds=50; may be given several times."
_TARGETS = "Scores, separated by commas, such as 0.5,0.8: what does it take to reach them?"
_OUT = "Folder for the file with the comparison and its report; its name is the comparison's."
_NAMES = "Methods of your own folder, as after --with. Default: none."
_WITH = (
    "Methods of your own folder, separated by commas: only their runs are trained, and of the "
    "other methods finished runs are shown. Without it the runs of all methods are trained."
)


@app.command(rich_help_panel=Panel.papers)
def bench(
    methods: Annotated[str, typer.Option(help=_METHODS)],
    dataset: Annotated[list[str] | None, typer.Option(help=_DATASET)] = None,
    partition: Annotated[list[str] | None, typer.Option(help=_PARTITION)] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, from 0 on.")] = 3,
    tune: Annotated[list[str] | None, typer.Option(help=_TUNE)] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help=_SET)] = None,
    metric: Annotated[str, typer.Option(help="What methods are ranked by.")] = "accuracy",
    targets: Annotated[str, typer.Option(help=_TARGETS)] = "",
    out: Annotated[Path, typer.Option(help=_OUT)] = Path("bench"),
    cores: options.Cores = "all",
    device: options.Device = "auto",
    plan: Annotated[
        bool, typer.Option("--plan", help="Write the file, say what it costs, train nothing.")
    ] = False,
    results: options.Results = options.RESULTS,
    data_dir: options.DataFolder = None,
) -> None:
    """Compare methods on the same data with an equal search, and write one leaderboard.

    Writes papers/<name>.yaml in a folder, then trains and reports it as any paper: finished runs
    are used again, and a longer list of methods trains only the new ones.
    """
    from fedbench.paper.bench import grids_of, targets_of

    comparison = prepare(
        out, results, methods, seeds=seeds, metric=metric, tune=grids_of(tune or []),
        datasets=[read_value(text) for text in dataset or ["digits"]],
        partitions=[read_value(text) for text in partition or ["iid"]],
        targets=targets_of(metric, split(targets)), settings=parse(settings or []),
    )  # fmt: skip
    print_costs(comparison.plan, project() / "workflow", results, data_dir)
    if not plan:
        comparison.train(cores, device=device, reports=comparison.reports, data_dir=data_dir)
        console.print(comparison.words(console.width), soft_wrap=True, highlight=False)
        print_line(f"The page: {comparison.page}")


@app.command(rich_help_panel=Panel.papers)
def arena(
    names: Annotated[list[str] | None, typer.Argument(help=_NAMES, show_default=False)] = None,
    own: Annotated[str, typer.Option("--with", metavar="METHODS", help=_WITH)] = "",
    scale: options.Scale = "demo",
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Say what all methods cost, and yours alone; train nothing."),
    ] = False,
    cores: options.Cores = "all",
    device: options.Device = "auto",
    results: options.Results = options.RESULTS,
    reports: Annotated[Path, typer.Option(help="Folder of the report.")] = Path("reports"),
    data_dir: options.DataFolder = None,
) -> None:
    """Let a method of your own meet all others under the same conditions, on one page.

    A search tries the same learning rates for every method, and up to three values of its main
    parameter if it has one; at scale demo nothing is searched. Published runs of the arena are
    restored first, if there are any, so that only what is not finished is trained.
    """
    board, mine = planned("arena", scale, results, reports), (*(names or []), *split(own))
    train = ",".join(mine) or "all"
    if plan:
        alone = [(f"{', '.join(mine)} alone", board.plan.to_train(train))] if mine else []
        print_costs(board.plan, project() / "workflow", results, data_dir, alone)
        return
    board.train(cores, train, device=device, reports=reports, data_dir=data_dir)
    print_line(f"The page: {board.page}")

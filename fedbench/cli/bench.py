"""The commands `bench` and `arena`: methods meet on the same settings after an equal search.

Both train a paper that compares methods and show its leaderboard: `bench` writes the file of that
paper from its options, `arena` takes the one that comes with fedbench.
"""

from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated

import typer

from fedbench.base.plugins import project, search_also
from fedbench.base.yamlfile import parse, read_value, split
from fedbench.cli import options
from fedbench.cli.app import Panel, app, console, print_line
from fedbench.cli.plan import print_costs
from fedbench.cli.workflow import reproduce

if TYPE_CHECKING:  # other commands must not wait for what this one needs
    from fedbench.plan.plan import Plan
    from fedbench.report.tables.cells import TableCell

_HEADING = 14  # letters in a line of a heading: a mean and its deviation are as long
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
    from fedbench.paper.bench import Bench, chosen_methods, grids_of, targets_of, write_bench
    from fedbench.paper.paper import require_paper_name

    comparison = Bench(
        methods=chosen_methods(methods),
        datasets=[read_value(text) for text in dataset or ["digits"]],
        partitions=[read_value(text) for text in partition or ["iid"]],
        settings=parse(settings or []),
        seeds=seeds,
        tune=grids_of(tune or []),
        metric=metric,
        targets=targets_of(metric, split(targets)),
    )
    require_paper_name("the folder's name", out.name, out)
    write_bench(comparison, out / "papers" / f"{out.name}.yaml")
    search_also(out)  # where the workflow finds that file, too
    planned = _planned(out.name, "paper")
    print_costs(planned, project() / "workflow", results, data_dir)
    if not plan:
        config = {"device": device, "reports": out / "reports", "data_dir": data_dir}
        _train(planned, "all", results, cores, **config)
        console.print(leaderboard(planned, results, console.width), soft_wrap=True, highlight=False)
        print_line(f"The page: {out}/reports/paper/{out.name}.html")


@app.command(rich_help_panel=Panel.papers)
def arena(
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
    planned, names = _planned("arena", scale), split(own)
    train = ",".join(names) or "all"
    if plan:
        alone = [(f"{', '.join(names)} alone", planned.to_train(train))] if names else []
        print_costs(planned, project() / "workflow", results, data_dir, alone)
        return
    _train(planned, train, results, cores, device=device, reports=reports, data_dir=data_dir)
    print_line(f"The page: {reports}/{scale}/arena.html")


def _planned(paper: str, scale: str) -> "Plan":
    from fedbench.plan.plan import make_plan

    return make_plan(project() / "workflow", scale, (paper,))


def _train(plan: "Plan", train: str, results: Path, cores: str, **config: object) -> None:
    """Train what is not finished of a plan of one paper, and report; says how many runs that was.

    train: names of methods, or 'all'. Published runs of the paper are restored first.
    """
    (paper,) = plan.papers
    chosen = plan.to_train(train)
    restored = _restore(plan, paper, results)
    before = _finished(chosen, results)
    asked = {"papers": paper, "scale": plan.scale, "train": train, "results": results}
    reproduce(cores, **asked, **config)
    words = f"{len(_finished(chosen, results) - before):,} runs trained"
    words += f", {restored:,} restored" if restored else ""
    finished = _finished(plan, results)
    methods = {str(cell.coords["method"]) for cell in plan.cells}
    shown = {str(cell.coords["method"]) for cell in plan.cells if cell.run_id in finished}
    if absent := len(methods - shown):
        words += (
            f"; {absent} of {len(methods)} methods have no run at this scale yet, which "
            f"`fedbench {paper} --scale {plan.scale}` trains"
        )
    print_line(f"{words}.")


def _restore(plan: "Plan", paper: str, results: Path) -> int:
    """Restore the published runs that are planned and not finished here; returns how many."""
    from fedbench.jobs.publish import exports_of, restore
    from fedbench.plan.data import data_key

    places = (exports_of(paper, folder / "results/published") for folder in (Path(), project()))
    published = next(filter(None, places), [])
    if not published:
        return 0
    data = {data_key(run.dataset) for run in plan.runs.values()}
    left = plan.runs.keys() - _finished(plan, results)
    return restore(published, results, {*left, *plan.trials, *data}).written


def _finished(plan: "Plan", results: Path) -> set[str]:
    from fedbench.store import Results

    return {run_id for run_id in plan.runs if Results(results).run(run_id).record() is not None}


def leaderboard(plan: "Plan", results: Path, width: int) -> str:
    """The measured numbers of the table `leaderboard` of a plan's one paper, as text.

    Columns that lines of `width` letters have no room for stand below the others.
    """
    import pandas as pd

    from fedbench.plan.printed import Printed
    from fedbench.report.tables.gather import table_cells
    from fedbench.report.tables.layout import arrange
    from fedbench.report.values import frames
    from fedbench.report.values.numbers import with_deviation
    from fedbench.store import Results

    (paper,) = plan.papers
    table = plan.papers[paper].tables["leaderboard"]
    file = Results(results).frame(plan.scale, paper)
    cells = table_cells(plan, (paper, "leaderboard"), frames.read(file), Printed(file, {}))
    layout = arrange(table, cells)
    columns = [column for block in layout.blocks for column in block.columns]
    rows = [(group.title, row) for group in layout.groups for row in group.rows]
    stats = [[_measured(row.cells.get(column.point)) for column in columns] for _, row in rows]
    texts = [[with_deviation(*stat, table.digits) for stat in of_row] for of_row in stats]
    heads = [(title, *(head for head, _ in row.heads)) for title, row in rows]
    index = pd.MultiIndex.from_tuples(heads, names=["", *layout.heads])
    labels = [wrap(column.label, _HEADING) for column in columns]
    lines = max(map(len, labels), default=1)
    above = [(*[""] * (lines - len(label)), *label) for label in labels]
    board = pd.DataFrame(texts, index, pd.MultiIndex.from_tuples(above))
    named = board if any(title for title, _ in rows) else board.droplevel(0)
    return f"{table.title}\n{named.to_string(line_width=width)}"


def _measured(cell: "TableCell | None") -> tuple[float | None, float | None]:
    stat = cell.measured if cell else None
    return (stat.mean, stat.std) if stat else (None, None)

"""The commands `bench`, `arena` and `compare`: methods on the same settings; two folders."""

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbench.base.errors import FedbenchError
from fedbench.base.files import exists, matching
from fedbench.base.plugins import files_by_name, searched
from fedbench.base.yamlfile import parse, read_value, split
from fedbench.cli import options
from fedbench.cli.app import Panel, app, console, print_json, print_line, table_of
from fedbench.cli.plan_and_status import print_costs
from fedbench.spec.compositions import every_method

if TYPE_CHECKING:  # other commands must not wait for what this one needs
    from fedbench.report.compare_results import Compared, Side

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
_ONLY_PLAN = "Write the file, say what it costs, train nothing."
_NAMES = "Methods of your own folder, as after --with. Default: none."
_WITH = (
    "Methods of your own folder, separated by commas: only their runs are trained, and of the "
    "other methods finished runs are shown. Without it the runs of all methods are trained."
)
_COSTS = "Say what all methods cost, and yours alone; train nothing."
_FOLDER = "The folder of a scale below a results folder, such as results/demo."


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
    plan: Annotated[bool, typer.Option("--plan", help=_ONLY_PLAN)] = False,
    results: options.Results = options.RESULTS,
    data_dir: options.DataFolder = None,
) -> None:
    """Compare methods on the same data with an equal search, and write one leaderboard.

    Writes papers/<name>.yaml in a folder, then trains and reports it as any paper: finished runs
    are used again, and a longer list of methods trains only the new ones.
    """
    from fedbench.cli.compare_methods import prepare
    from fedbench.paper.paper_from_methods import grids_of, targets_of

    comparison = prepare(
        out, results, methods, seeds=seeds, metric=metric, tune=grids_of(tune or []),
        datasets=[read_value(text) for text in dataset or ["digits"]],
        partitions=[read_value(text) for text in partition or ["iid"]],
        targets=targets_of(metric, split(targets)), settings=parse(settings or []),
    )  # fmt: skip
    print_costs(comparison.plan, results, data_dir)
    if not plan:
        comparison.train(cores, device=device, data_dir=data_dir)
        console.print(comparison.words(console.width), soft_wrap=True, highlight=False)
        print_line(f"The page: {comparison.page}")


@app.command(rich_help_panel=Panel.papers)
def arena(
    names: Annotated[list[str] | None, typer.Argument(help=_NAMES, show_default=False)] = None,
    own: Annotated[str, typer.Option("--with", metavar="METHODS", help=_WITH)] = "",
    scale: options.Scale = "demo",
    plan: Annotated[bool, typer.Option("--plan", help=_COSTS)] = False,
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
    from fedbench.cli.compare_methods import planned

    board, mine = planned("arena", scale, results, reports), (*(names or []), *split(own))
    train = ",".join(mine) or "all"
    if plan:
        alone = [(f"{', '.join(mine)} alone", board.plan.to_train(train))] if mine else []
        print_costs(board.plan, results, data_dir, alone)
        return
    board.train(cores, train, device=device, data_dir=data_dir)
    print_line(f"The page: {board.page}")


@app.command(rich_help_panel=Panel.papers)
def compare(
    one: Annotated[Path, typer.Argument(help=_FOLDER)],
    other: Annotated[Path, typer.Argument(help="Another such folder.")],
    papers: options.Papers = "",
    as_json: options.AsJson = False,
    workflow: options.Workflow = options.WORKFLOW,
) -> None:
    """Check whether two folders of results agree up to the noise of seeds.

    Methods are compared by `fedbench bench`, and the curves of two by `fedbench show`.

    Cells are joined by their place in a paper's tables. Each is tested with Welch's t-test on the
    seeds; of those that are called different at most 5 % are expected to be false alarms.
    """
    from fedbench.report import compare_results as sides

    names = split(papers)
    compared = sides.compare(_side(one, names, workflow), _side(other, names, workflow))
    cells = compared.cells
    if cells.empty:
        raise FedbenchError(f"{one} and {other}: no cell of a table was measured in both")
    if as_json:  # which has no number that is not finite
        named = cells.rename(columns={"mean_one": "one", "mean_other": "other"})
        told = named[[*sides.PLACE, "one", "other", "difference", "p", "apart", "same"]]
        finite = told.replace([math.inf, -math.inf], math.nan).astype(object)
        print_json(finite.where(finite.notna(), None).to_dict("records"))
        return
    if cells["apart"].any():
        console.print(table_of(_apart(compared, one, other)))
    untested = cells[cells["p"].isna() & ~cells["same"]]
    lost = sum(not math.isfinite(each) for each in untested["difference"])
    print_line(
        f"Cells measured in both: {len(cells):,}. The same in every run: {cells['same'].sum():,}. "
        f"Differ beyond the spread of the seeds: {cells['apart'].sum():,}. Differ, with too few "
        f"seeds to tell: {len(untested) - lost:,}. Not finite in one of the two: {lost:,}. Only in "
        f"{one}: {compared.only_one:,}, only in {other}: {compared.only_other:,}."
    )


def _side(folder: Path, papers: tuple[str, ...], workflow: Path) -> "Side":
    """The folder's plan, of the papers asked for or else of those that were collected there."""
    from fedbench.plan.plan import make_plan
    from fedbench.report.compare_results import Side

    collected = [file.stem for file in matching(folder, "*.parquet")]
    if not matching(folder, "plan-*.json") or not collected:
        beside = dict.fromkeys(file.parent for file in matching(folder.parent, "*/plan-*.json"))
        others = ", ".join(str(each) for each in beside if matching(each, "*.parquet"))
        there_are = f"collected here: {others}" if others else "name one such as results/demo"
        there_are += "; methods are compared by `fedbench bench`" * (str(folder) in every_method())
        what = "holds no collected runs of a scale" if exists(folder) else "there is no such folder"
        raise FedbenchError(f"{folder}: {what}; {there_are}")
    written = files_by_name(workflow / "papers")
    wanted = papers or tuple(name for name in collected if name in written)
    if not wanted:
        known = f"no paper {', '.join(collected)} is known ({searched('papers')})"
        raise FedbenchError(f"{folder}: {known}")
    # of a link the folder where it leads may be that of a scale
    scales = files_by_name(workflow / "scales")
    places = [Path(os.path.abspath(folder)), folder.resolve()]
    place = next((place for place in places if place.name in scales), places[0])
    return Side(make_plan(workflow, place.name, wanted), place.parent)


def _apart(compared: "Compared", one: Path, other: Path) -> Iterator[dict[str, str]]:
    from fedbench.report.values.numbers import signed, with_deviation

    apart = compared.cells[compared.cells["apart"]].sort_values("p", kind="stable")
    for cell in apart.to_dict("records"):
        place = [cell[name] for name in ("dataset", "setting", "method", "metric")]
        digits = 2 if abs(cell["mean_one"]) >= 10 else 4
        row = {"table": cell["table"], "cell": ", ".join(filter(None, place))}
        for folder, side in ((one, "one"), (other, "other")):
            number = with_deviation(cell[f"mean_{side}"], cell[f"std_{side}"], digits)
            row[f"in {folder}"] = f"{number} ({len(cell[f'values_{side}'])})"
        yield row | {"difference": signed(cell["difference"], digits), "p": f"{cell['p']:.1g}"}

"""The command `compare`: where two folders of results differ by more than seeds do."""

import math
import os
from collections.abc import Container
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedbench.base.errors import FedbenchError
from fedbench.base.files import exists, matching
from fedbench.base.yamlfile import split
from fedbench.cli import options
from fedbench.cli.app import Panel, app, console, print_json, print_line, table_of

if TYPE_CHECKING:  # other commands must not wait for what this one needs
    from fedbench.report.compare import Compared, Pair, Side
    from fedbench.report.tables.cells import TableCell

_FOLDER = "The folder of a scale below a results folder, such as results/demo."


@app.command(rich_help_panel=Panel.papers)
def compare(
    one: Annotated[Path, typer.Argument(help=_FOLDER)],
    other: Annotated[Path, typer.Argument(help="Another such folder.")],
    papers: options.Papers = "",
    as_json: options.AsJson = False,
    workflow: options.Workflow = options.WORKFLOW,
) -> None:
    """Say which cells of the tables differ between two scales or two machines beyond the seeds.

    Cells are joined by their place in a paper's tables. Each is tested with Welch's t-test on the
    seeds; of those that are called different at most 5 % are expected to be false alarms.
    """
    from fedbench.report.compare import compare as joined

    names = split(papers)
    compared = joined(_side(one, names, workflow), _side(other, names, workflow))
    if not compared.pairs:
        raise FedbenchError(f"{one} and {other}: no cell of a table was measured in both")
    if as_json:
        print_json([_facts(pair) for pair in compared.pairs])
        return
    if compared.apart:
        console.print(table_of(_texts(pair, one, other) for pair in compared.apart))
    print_line(_counts(compared, one, other))


def _side(folder: Path, papers: tuple[str, ...], workflow: Path) -> "Side":
    """The folder's plan, of the papers asked for or else of those that were collected there."""
    from fedbench.base.plugins import files_by_name
    from fedbench.plan.plan import make_plan
    from fedbench.report.compare import Side

    collected = [file.stem for file in matching(folder, "*.parquet")]
    if not matching(folder, "plan-*.json") or not collected:
        beside = dict.fromkeys(file.parent for file in matching(folder.parent, "*/plan-*.json"))
        others = ", ".join(str(each) for each in beside if matching(each, "*.parquet"))
        there_are = f"collected here: {others}" if others else "name one such as results/demo"
        what = "holds no collected runs of a scale" if exists(folder) else "there is no such folder"
        raise FedbenchError(f"{folder}: {what}; {there_are}")
    written = files_by_name(workflow / "papers", "*.yaml")
    wanted = papers or tuple(name for name in collected if name in written)
    place = _place(folder, files_by_name(workflow / "scales", "*.yaml"))
    return Side(make_plan(workflow, place.name, wanted), place.parent)


def _place(folder: Path, scales: Container[str]) -> Path:
    """The folder by a path that ends with its scale: of a link, or of where the link leads."""
    places = [Path(os.path.abspath(folder)), folder.resolve()]
    return next((place for place in places if place.name in scales), places[0])


def _counts(compared: "Compared", one: Path, other: Path) -> str:
    untested = [pair for pair in compared.pairs if pair.p is None and not pair.same]
    lost = sum(not math.isfinite(pair.difference) for pair in untested)
    same = sum(pair.same for pair in compared.pairs)
    return (
        f"Cells measured in both: {len(compared.pairs):,}. The same in every run: {same:,}. "
        f"Differ beyond the spread of the seeds: {len(compared.apart):,}. Differ, with too few "
        f"seeds to tell: {len(untested) - lost:,}. Not finite in one of the two: {lost:,}. Only in "
        f"{one}: {compared.only_one:,}, only in {other}: {compared.only_other:,}."
    )


def _texts(pair: "Pair", one: Path, other: Path) -> dict[str, str]:
    from fedbench.report.values.numbers import signed

    place, sides = pair.place, {f"in {one}": pair.one, f"in {other}": pair.other}
    named = filter(None, (place.dataset, place.setting, place.method, place.metric))
    return {
        "table": pair.table,
        "cell": ", ".join(named),
        **{k: f"{measured(cell, 2)} ({len(cell.measured_runs)})" for k, cell in sides.items()},
        "difference": signed(pair.difference, 2),
        "p": f"{pair.p:.1g}" if pair.p is not None else "",
    }


def measured(cell: "TableCell | None", digits: int) -> str:
    """The mean of a cell's runs and its standard deviation over the seeds; a dash without any."""
    from fedbench.report.values.numbers import fixed

    if cell is None or cell.measured is None:
        return "–"
    mean, deviation = cell.measured.mean, cell.measured.std
    return fixed(mean, digits) + (f" ± {fixed(deviation, digits)}" if deviation is not None else "")


def _facts(pair: "Pair") -> dict[str, Any]:
    sides = {"one": pair.one.measured, "other": pair.other.measured}
    means = {name: _finite(stat.mean) for name, stat in sides.items() if stat}
    tested = {"p": pair.p, "apart": pair.apart, "same": pair.same}
    about = {"table": pair.table, **means, "difference": _finite(pair.difference), **tested}
    return asdict(pair.place) | about


def _finite(number: float) -> float | None:
    """The number, which JSON cannot hold if it is not finite."""
    return number if math.isfinite(number) else None

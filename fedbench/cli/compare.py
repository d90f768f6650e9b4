"""The command `compare`: where two folders of results differ by more than seeds do."""

import json
import math
import os
from collections.abc import Container, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from fedbench.base.errors import FedbenchError
from fedbench.base.files import exists, matching
from fedbench.base.yamlfile import split
from fedbench.cli.app import AsJson, Panel, Papers, WorkflowFolder, app, console, sentences

if TYPE_CHECKING:  # other commands must not wait for what this one needs
    from fedbench.report.compare import Compared, Pair, Side

_FOLDER = "The folder of a scale below a results folder, such as results/demo."


@app.command(rich_help_panel=Panel.papers)
def compare(
    one: Annotated[Path, typer.Argument(help=_FOLDER)],
    other: Annotated[Path, typer.Argument(help="Another such folder.")],
    papers: Papers = "",
    as_json: AsJson = False,
    workflow: WorkflowFolder = Path("workflow"),
) -> None:
    """Say which cells of the tables differ between two scales or two machines beyond the seeds.

    Cells are joined by their place in a paper's tables. Each is tested with Welch's t-test on the
    seeds; of those that are called different at most 5 % are expected to be false alarms.
    """
    with sentences():
        from fedbench.report.compare import compare as joined

        names = split(papers)
        compared = joined(_side(one, names, workflow), _side(other, names, workflow))
        if not compared.pairs:
            raise FedbenchError(f"{one} and {other}: no cell of a table was measured in both")
    if as_json:
        facts = [_facts(pair) for pair in compared.pairs]
        print(json.dumps(facts, allow_nan=False))
        return
    _show(compared, one, other)


def _side(folder: Path, papers: tuple[str, ...], workflow: Path) -> "Side":
    """The folder's plan, of the papers asked for or else of those that were collected there."""
    from fedbench.base.plugins import files_by_name
    from fedbench.plan.plan import make_plan
    from fedbench.report.compare import Side

    there = [file.stem for file in matching(folder, "*.parquet")]
    if not matching(folder, "plan-*.json") or not there:
        beside = dict.fromkeys(file.parent for file in matching(folder.parent, "*/plan-*.json"))
        others = ", ".join(str(each) for each in beside if matching(each, "*.parquet"))
        there_are = f"collected here: {others}" if others else "name one such as results/demo"
        what = "holds no collected runs of a scale" if exists(folder) else "there is no such folder"
        raise FedbenchError(f"{folder}: {what}; {there_are}")
    written = files_by_name(workflow / "papers", "*.yaml")
    wanted = papers or tuple(name for name in there if name in written)
    place = _place(folder, files_by_name(workflow / "scales", "*.yaml"))
    return Side(make_plan(workflow, place.name, wanted), place.parent)


def _place(folder: Path, scales: Container[str]) -> Path:
    """The folder by a path that ends with its scale: of a link, or of where the link leads."""
    places = [Path(os.path.abspath(folder)), folder.resolve()]
    return next((place for place in places if place.name in scales), places[0])


def _show(compared: "Compared", one: Path, other: Path) -> None:
    table = Table("table", "cell", str(one), str(other), "difference", "p")
    for pair in compared.apart:
        table.add_row(*_cells(pair))
    if compared.apart:
        console.print(table)
    untested = [pair for pair in compared.pairs if pair.p is None and not pair.same]
    lost = sum(not math.isfinite(pair.difference) for pair in untested)
    same = sum(pair.same for pair in compared.pairs)
    console.print(
        f"Cells measured in both: {len(compared.pairs):,}. The same in every run: {same:,}. "
        f"Differ beyond the spread of the seeds: {len(compared.apart):,}. Differ, with too few "
        f"seeds to tell: {len(untested) - lost:,}. Not finite in one of the two: {lost:,}. Only in "
        f"{one}: {compared.only_one:,}, only in {other}: {compared.only_other:,}.",
        soft_wrap=True,
    )


def _cells(pair: "Pair") -> Iterator[str]:
    from fedbench.report.values.numbers import fixed, signed

    place = pair.place
    yield pair.table
    yield ", ".join(filter(None, (place.dataset, place.setting, place.method, place.metric)))
    for cell in (pair.one, pair.other):
        stat = cell.measured
        spread = f" ± {fixed(stat.std, 2)}" if stat and stat.std is not None else ""
        yield f"{fixed(stat.mean, 2) if stat else '–'}{spread} ({len(cell.measured_runs)})"
    yield signed(pair.difference, 2)
    yield f"{pair.p:.1g}" if pair.p is not None else ""


def _facts(pair: "Pair") -> dict[str, Any]:
    means = {
        name: _finite(cell.measured.mean)
        for name, cell in (("one", pair.one), ("other", pair.other))
        if cell.measured
    }
    place = {name: getattr(pair.place, name) for name in pair.place.__dataclass_fields__}
    about = {
        "difference": _finite(pair.difference),
        "p": pair.p,
        "apart": pair.apart,
        "same": pair.same,
    }
    return {**place, "table": pair.table, **means, **about}


def _finite(number: float) -> float | None:
    """The number, which JSON cannot hold if it is not finite."""
    return number if math.isfinite(number) else None

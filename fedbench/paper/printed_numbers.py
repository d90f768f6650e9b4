"""The numbers that a paper prints, and where in its tables they stand."""

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from pathlib import Path

from fedbench.base.checks import checked
from fedbench.base.errors import FedbenchError, quoted, require_among, unknown
from fedbench.base.files import exists, read_text
from fedbench.paper.grid_points import Coords, Point, expanded, matches, resolve
from fedbench.paper.paper import Paper
from fedbench.paper.tables_and_figures import Table
from fedbench.paper.yaml_notation import level_text, number_in
from fedbench.spec import Choice, RunSpec


@dataclass(frozen=True)
class Stat:
    """Mean and sample standard deviation (None where it is unknown or there is one value)."""

    mean: float
    std: float | None
    line: int | str = field(default="?", compare=False)  # in the file of printed numbers


@dataclass(frozen=True)
class Place:
    """Where a number stands: `setting` is 'axis=level' joined by ';'."""

    table: str
    dataset: str
    setting: str
    method: str
    metric: str


_COLUMNS = [*(f.name for f in fields(Place)), "mean", "std"]


@dataclass(frozen=True)
class Printed:
    """The numbers that one paper prints, by place and in the units of their tables; maybe none."""

    path: Path
    numbers: dict[Place, Stat]

    def refuse_strangers(self, table: str, shown: Iterable[Place]) -> None:
        """Raise `FedbenchError` on a number of the table at none of the places `shown`."""
        places = set(shown)
        for place in self.numbers:
            if place.table == table and place not in places:
                raise FedbenchError(f"{self.at(place)}: {_difference(place, places)}")

    def at(self, place: Place) -> str:
        """File and line of a number."""
        return f"{self.path}: line {self.numbers[place].line}"

    @property
    def absence(self) -> str:
        """A sentence for the report where there is no file; empty where there is one."""
        paper = self.path.name.replace(".printed.csv", ".yaml")
        lacks = f"There is no file {self.path.name} beside {paper}"
        said = f"{lacks}, so no number printed in the paper is shown."
        return "" if exists(self.path) else said


def printed_numbers(file: Path, paper: Paper) -> Printed:
    """The numbers printed beside a paper's file, at the places that its tables have."""
    places = table_places(paper, expanded(file, paper))
    return read_printed(file.with_suffix(".printed.csv"), places)


def read_printed(path: Path, places: Mapping[str, Sequence[Place]] | None = None) -> Printed:
    """The numbers of the file, if there, at these places; `FedbenchError` on two for one."""
    there = [x for of_table in (places or {}).values() for x in of_table]
    homes = {_by_value(x): x for x in there} | {x: x for x in there}
    numbers: dict[Place, Stat] = {}
    for written, stat in _rows(path, read_text(path)) if exists(path) else ():
        place = homes.get(written) or homes.get(_by_value(written)) or written
        if place in numbers:
            raise FedbenchError(f"{path}: line {stat.line} repeats line {numbers[place].line}")
        numbers[place] = stat
    return Printed(path, numbers)


def _by_value(place: Place) -> Place:
    """The place with each level that is a number spelled as reports write it."""

    def spelled(level: re.Match[str]) -> str:
        number = number_in(level[0])
        return level[0] if number is None else level_text(number)

    return replace(place, setting=re.sub("[^=;]+(?=;|$)", spelled, place.setting))


def _rows(path: Path, text: str) -> Iterator[tuple[Place, Stat]]:
    header = ",".join(_COLUMNS)
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff")), strict=True)
    try:
        if next(reader, None) != _COLUMNS:
            raise FedbenchError(f"{path}: the columns must be {header}, as its first line says")
        for cells in filter(None, reader):
            if len(cells) != len(_COLUMNS):
                told = f"has {len(cells)} cells; it must have {len(_COLUMNS)}: {header}"
                raise FedbenchError(f"{path}: line {reader.line_num} {told}")
            yield _number(path, reader.line_num, cells)
    except csv.Error as error:
        raise FedbenchError(f"{path}: line {reader.line_num}: no CSV ({error})") from None


def _number(path: Path, line: int, cells: Sequence[str]) -> tuple[Place, Stat]:
    *key, mean, std = cells
    try:
        stat = Stat(float(mean), float(std) if std else None, line)
    except ValueError:
        stat = Stat(math.nan, None)
    if not math.isfinite(stat.mean) or not 0 <= (stat.std or 0.0) < math.inf:
        told = f"mean = {quoted(mean)} and std = {quoted(std)} must be finite numbers"
        raise FedbenchError(f"{path}: line {line}: {told}; std not below 0, or empty")
    return Place(*key), stat


def _difference(place: Place, places: set[Place]) -> str:
    """The part of the place that no cell of the table has, with the nearest that one has."""
    for name, value in zip(_COLUMNS[1:], astuple(place)[1:], strict=False):
        there = {getattr(other, name) for other in places}
        if value not in there:
            return f"{place.table} has {unknown(name, value, there)}"
    return f"{place} is no cell of {place.table}: no cell has all of these together"


def axes(table: Table) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The axes of rows and of columns; several metrics that neither names become rows."""
    loose = len(table.metrics) > 1 and "metric" not in table.rows + table.columns
    return (*table.rows, "metric") if loose else table.rows, table.columns


def table_places(paper: Paper, points: Sequence[Point]) -> dict[str, list[Place]]:
    """Where the numbers of each table stand, by its key; points: all of the paper's grids."""
    found = {}
    for key, table in paper.tables.items():
        shown = [x for x in points if x.grid == table.grid and matches(x.coords, table.where)]
        found[key] = [_place(key, table, x, metric) for metric in table.metrics for x in shown]
    return found


def place_of(key: str, paper: Paper, point: Coords, metric: str) -> Place:
    """Where the number of a point of its grid stands in a table of the paper."""
    table = paper.tables[key]
    settings = {} if "dataset" in point else resolve(paper, paper.grids[table.grid], point)
    return _place(key, table, Point(table.grid, point, settings), metric)


def _place(key: str, table: Table, point: Point, metric: str) -> Place:
    coords = {axis: level for axis, level in point.coords.items() if axis not in table.over}
    shown = [axis for axis in sum(axes(table), ()) if axis not in ("dataset", "method", "metric")]
    setting = ";".join(f"{axis}={level_text(coords[axis])}" for axis in shown)
    usual = RunSpec.model_fields["dataset"].default
    named = coords.get("dataset") or checked(Choice, point.settings.get("dataset", usual)).name
    named = "" if "dataset" in table.over else named
    return Place(table.printed or key, str(named), setting, str(coords.get("method", "")), metric)


def check_printed(printed: Printed, paper: Paper, places: Mapping[str, Sequence[Place]]) -> None:
    """Raise `FedbenchError` on a number of no table or cell, and on a missing file that is named.

    Numbers of tables of facts are checked when these tables are made.
    """
    for key, table in paper.tables.items():
        if table.printed and printed.absence:
            asks = f"tables.{key}.printed = '{table.printed}' asks for printed numbers"
            raise FedbenchError(f"{printed.path}: there is no such file, but {asks}")
    asked = {place.table: place for place in printed.numbers}
    for key, place in asked.items():
        if key in paper.tables:
            printed.refuse_strangers(key, places[key])
        else:
            require_among(printed.at(place), "table", key, [*paper.tables, *paper.facts])

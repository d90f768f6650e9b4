"""The numbers that a paper prints, from `papers/<paper>.printed.csv`, where it prints any."""

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, field, fields
from pathlib import Path

from fedbench.base.errors import FedbenchError, quoted, unknown
from fedbench.base.files import exists, read_text
from fedbench.stat import Stat


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
    """The printed numbers of one paper by place, in the units of their tables; lines of the file.

    Without a file there are none.
    """

    path: Path
    numbers: dict[Place, Stat]
    lines: dict[Place, int] = field(default_factory=dict)

    def refuse_strangers(self, table: str, known: Iterable[Place]) -> None:
        """Raise on a number of that table which belongs to no cell: it would be lost in silence."""
        places = set(known)
        for place in self.numbers:
            if place.table == table and place not in places:
                raise FedbenchError(f"{self.at(place)}: {_difference(place, places)}")

    def at(self, place: Place) -> str:
        """File and line of a number."""
        return f"{self.path}: line {self.lines.get(place, '?')}"


def read_printed(path: Path) -> Printed:
    """Read the file; a paper without one has no printed numbers."""
    printed = Printed(path, {})
    if exists(path):
        for line, cells in _rows(path):
            place, stat = _number(f"{path}: line {line}", cells)
            if place in printed.numbers:
                raise FedbenchError(f"{path}: line {line} repeats line {printed.lines[place]}")
            printed.numbers[place], printed.lines[place] = stat, line
    return printed


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Lines below the header that are not empty, by their number."""
    header = ",".join(_COLUMNS)
    reader = csv.reader(io.StringIO(read_text(path).removeprefix("\ufeff")), strict=True)
    try:
        if next(reader, None) != _COLUMNS:
            raise FedbenchError(f"{path}: the columns must be {header}, as its first line says")
        for cells in reader:
            if cells and len(cells) != len(_COLUMNS):
                raise FedbenchError(
                    f"{path}: line {reader.line_num} has {len(cells)} cells; it must have "
                    f"{len(_COLUMNS)}: {header}"
                )
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise FedbenchError(f"{path}: line {reader.line_num}: no CSV ({error})") from None


def _number(where: str, cells: Sequence[str]) -> tuple[Place, Stat]:
    *key, mean, std = cells
    try:
        found = Stat(float(mean), float(std) if std else None)
    except ValueError:
        found = Stat(math.nan, None)
    if not math.isfinite(found.mean) or not 0 <= (found.std or 0.0) < math.inf:
        raise FedbenchError(
            f"{where}: mean = {quoted(mean)} and std = {quoted(std)} must be finite numbers, std "
            "not below 0; std may be empty"
        )
    return Place(*key), found


def _difference(place: Place, known: set[Place]) -> str:
    """What of the place the table does not have, with the nearest that it has."""
    for name, value in zip(_COLUMNS[1:], astuple(place)[1:], strict=False):
        there = {getattr(other, name) for other in known}
        if value not in there:
            return f"{place.table} has {unknown(name, value, there)}"
    return f"{place} is no cell of {place.table}: its parts do not stand together"

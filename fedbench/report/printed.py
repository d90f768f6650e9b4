"""The numbers that a paper prints, from `papers/<paper>.printed.csv`."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fedbench.errors import FedbenchError
from fedbench.files import exists
from fedbench.report.frames import Stat

_KEY = ["table", "dataset", "setting", "method", "metric"]
_COLUMNS = [*_KEY, "mean", "std"]


@dataclass(frozen=True)
class Place:
    """Where a number stands: `setting` is 'axis=level' joined by ';'."""

    table: str
    dataset: str
    setting: str
    method: str
    metric: str


@dataclass(frozen=True)
class Printed:
    """The printed numbers of one paper by place, in the units of their tables."""

    path: Path
    numbers: dict[Place, Stat]

    def refuse_strangers(self, table: str, known: Iterable[Place]) -> None:
        """Raise on a number of that table which belongs to no cell: it would be lost in silence."""
        places = set(known)
        for place in self.numbers:
            if place.table == table and place not in places:
                raise FedbenchError(
                    f"{self.path}: {place} is no cell of {table} in the paper's YAML"
                )


def read_printed(path: Path) -> Printed:
    """Read the file; a paper without one has no printed numbers."""
    if not exists(path):
        return Printed(path, {})
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    if list(frame.columns) != _COLUMNS:
        raise FedbenchError(f"{path}: the columns must be {','.join(_COLUMNS)}")
    repeated = frame[frame.duplicated(_KEY)]
    if len(repeated):
        raise FedbenchError(f"{path}: line {repeated.index[0] + 2} repeats a number")
    return Printed(path, dict(_number(path, i, row) for i, row in enumerate(frame.to_numpy())))


def _number(path: Path, i: int, row: Iterable[str]) -> tuple[Place, Stat]:
    *key, mean, std = row
    try:
        return Place(*key), Stat(float(mean), float(std) if std else None)
    except ValueError:
        raise FedbenchError(f"{path}: line {i + 2}: '{mean}', '{std}' must be numbers") from None

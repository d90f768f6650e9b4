"""Reads a CSV file of numbers that has one column of labels."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbench.base.errors import FedbenchError, short

_LAYOUT = "comma-separated UTF-8 text whose first line names the columns"
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
Rows = list[tuple[int, list[str]]]  # line numbers and cells


@dataclass(frozen=True)
class LabelledRows:
    """Numbers (N, features), labels (N,), which are int64 or words, and the features' names."""

    x: NDArray[np.float32]
    y: NDArray[Any]
    columns: tuple[str, ...]


def read_csv(file: Path, where: str, label: str) -> LabelledRows:
    """The rows of a CSV file; their labels stand in the column `label`, or in the last if it is ''.

    Raises `FedbenchError`, which begins with `where`, if the file is not such a table, or names
    line and column of a cell that is not a finite number, of a missing label, or of a row with too
    few or too many cells.
    """
    columns, rows = _read(file, where)
    _check_columns(where, columns, label)
    at = columns.index(label) if label else len(columns) - 1
    x = np.empty((len(rows), len(columns) - 1), dtype=np.float32)
    words = []
    for i, (line, cells) in enumerate(rows):
        words.append(_label(cells.pop(at).strip(), f"{where}: line {line}", columns[at]))
        x[i] = _numbers(cells, f"{where}: line {line}", columns[:at] + columns[at + 1 :])
    y = _labels(words, f"{where}: column {columns[at]!r}")
    return LabelledRows(x, y, tuple(columns[:at] + columns[at + 1 :]))


def _read(file: Path, where: str) -> tuple[list[str], Rows]:
    """The names of the columns, and the rows below them; empty lines are skipped."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            rows = list(_rows(csv.reader(stream, strict=True), where))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FedbenchError(
            f"{where}: the file is not a readable table ({short(error)}); it must be {_LAYOUT}"
        ) from error
    if len(rows) < 2:
        problem = "has no row below its first line" if rows else "is empty"
        raise FedbenchError(f"{where}: the file {problem}; it must be {_LAYOUT}")
    return [cell.strip() for cell in rows[0][1]], rows[1:]


def _rows(reader: Any, where: str) -> Iterator[tuple[int, list[str]]]:
    width = 0
    for cells in reader:
        width = width or len(cells)
        if cells and len(cells) != width:
            raise FedbenchError(
                f"{where}: line {reader.line_num} has {len(cells)} cells; "
                f"every line must have {width} as the first"
            )
        if cells:
            yield reader.line_num, cells


def _check_columns(where: str, columns: Sequence[str], label: str) -> None:
    if all(_is_number(name) for name in columns):
        raise FedbenchError(f"{where}: line 1 has only numbers; it must name the columns")
    for name in columns:
        if _is_number(name) and not _WHOLE.fullmatch(name):  # tables are written with heads 0, 1, 2
            raise FedbenchError(
                f"{where}: line 1 must name the columns, but {name!r} is a number; put a line of "
                "names on top"
            )
    twice = [name for name in columns if columns.count(name) > 1]
    if twice:
        raise FedbenchError(f"{where}: two columns are named {twice[0]!r}; names must differ")
    if label and label not in columns:
        raise FedbenchError(
            f"{where}: there is no column {label!r} for the labels, only "
            f"{', '.join(map(repr, columns))}"
        )
    if len(columns) < 2:
        raise FedbenchError(f"{where}: the file has one column; it needs labels and features")


def _numbers(cells: Sequence[str], where: str, columns: Sequence[str]) -> NDArray[np.float32]:
    try:
        numbers = np.array(cells, dtype=np.float64)
    except ValueError:
        numbers = np.array([float(c) if _is_number(c) else np.nan for c in cells])
    with np.errstate(
        over="ignore"
    ):  # a number too large for float32 becomes infinite and is refused below
        values = numbers.astype(np.float32)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise FedbenchError(
            f"{where}, column {columns[bad[0]]!r} has {cells[bad[0]]!r}; "
            "features must be finite numbers"
        )
    return values


def _label(cell: str, where: str, column: str) -> str:
    if not cell:
        raise FedbenchError(f"{where} has no label in column {column!r}; every row needs one")
    return cell


def _labels(words: Sequence[str], where: str) -> NDArray[Any]:
    """The labels as whole numbers if all of them are, else as words."""
    if all(_WHOLE.fullmatch(word) for word in words):
        return np.array([int(word) for word in words], dtype=np.int64)
    if all(_is_number(word) for word in words):
        first = next(word for word in words if not _WHOLE.fullmatch(word))
        raise FedbenchError(f"{where} has label {first!r}; labels must be whole numbers or words")
    return np.array(words)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True

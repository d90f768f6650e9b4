"""Reads a CSV file of numbers that has one column of labels.

By Python's module `csv`, which, unlike the parsers of pandas and pyarrow, refuses a stray quote and
knows the line of every cell.
"""

import csv
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbench.base.errors import FedbenchError, short

# as `pandas.read_csv` takes values for missing, and as text ends up that was made of some
_NUMBERS = {"nan", "-nan", "NaN", "-NaN", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"}
MISSING = _NUMBERS | {"", "NA", "#NA", "N/A", "n/a", "#N/A", "#N/A N/A", "<NA>", "NaT", "None"}
MISSING |= {"NULL", "null"}

_LAYOUT = "comma-separated UTF-8 text whose first line names the columns"
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_TRUTH = {"true": 1.0, "false": 0.0}  # as pandas writes a column of truth values
_UNNAMED = re.compile(r"(Unnamed: [0-9]+)?")
_LARGEST = float(np.finfo(np.float32).max)
Rows = Iterable[tuple[int, list[str]]]  # line numbers and cells


@dataclass(frozen=True)
class LabelledRows:
    """Numbers (N, features), labels (N,), which are int64 or words, and the columns' names."""

    x: NDArray[np.float32]
    y: NDArray[Any]
    columns: tuple[str, ...]  # of x
    label: str  # of y


def read_csv(file: Path, where: str, label: str) -> LabelledRows:
    """The rows of a CSV file; their labels stand in the column `label`, or in the last if it is ''.

    Raises `FedbenchError`, which begins with `where`, if the file is not such a table, or names
    line and column of a cell that is not a finite number, of a missing label, or of a row with too
    few or too many cells.
    """
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            rows = _rows(csv.reader(stream, strict=True), where)
            _, cells = next(rows, (0, list[str]()))
            columns = [cell.strip() for cell in cells]
            _check_columns(where, columns, label)
            at = columns.index(label) if label else len(columns) - 1
            x, words = _values(rows, columns, at, where)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FedbenchError(
            f"{where}: the file is not a readable table ({short(error)}); it must be {_LAYOUT}"
        ) from error
    names = tuple(columns[:at] + columns[at + 1 :])
    _refuse_index(where, x, names)
    return LabelledRows(x, _labels(words, f"{where}: column {columns[at]!r}"), names, columns[at])


def _rows(reader: Any, where: str) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and cells; empty lines are skipped."""
    width = 0
    for cells in reader:
        if len(cells) < 2 and not "".join(cells).strip():
            continue
        width = width or len(cells)
        if len(cells) != width:
            raise FedbenchError(
                f"{where}: line {reader.line_num} has {len(cells)} cells; "
                f"every line must have {width} as the first"
            )
        yield reader.line_num, cells


def _values(
    rows: Rows, columns: Sequence[str], at: int, where: str
) -> tuple[NDArray[np.float32], list[str]]:
    """The features, and the labels as they are written."""
    names = [*columns[:at], *columns[at + 1 :]]
    numbers, words, parsers = array("d"), list[str](), list[Callable[[str], float]]()
    for line, cells in rows:
        words.append(cells.pop(at).strip())
        _refuse_label(words[-1], f"{where}: line {line}", columns[at])
        parsers = parsers or [_truth if _is_truth(cell) else _number for cell in cells]
        for name, parse, cell in zip(names, parsers, cells, strict=True):
            try:
                numbers.append(parse(cell))
            except (ValueError, KeyError):
                raise FedbenchError(
                    f"{where}: line {line}, column {name!r} has {cell!r}; "
                    "features must be finite numbers"
                ) from None
    if not words:
        raise FedbenchError(
            f"{where}: the file has no row below its first line; it must be {_LAYOUT}"
        )
    return np.frombuffer(numbers).astype(np.float32).reshape(len(words), len(names)), words


def _is_truth(cell: str) -> bool:
    return cell.strip().lower() in _TRUTH


def _truth(cell: str) -> float:
    """1 or 0; raises `KeyError` on a cell that is neither True nor False."""
    return _TRUTH[cell.strip().lower()]


def _number(cell: str) -> float:
    """The number in a cell; raises `ValueError` if it is none that float32 can hold."""
    value = float(cell)
    if not abs(value) <= _LARGEST or "_" in cell:  # Python takes 1_000 for a number
        raise ValueError
    return value


def _refuse_label(word: str, where: str, column: str) -> None:
    if not word:
        raise FedbenchError(f"{where} has no label in column {column!r}; every row needs one")
    if word in MISSING:
        raise FedbenchError(
            f"{where} has the label {word!r} in column {column!r}, as missing values are written; "
            "every row needs one; if it is a class, give it another name"
        )


def _refuse_index(where: str, x: NDArray[np.float32], columns: Sequence[str]) -> None:
    """Refuse a column without a name that numbers the rows, as pandas and R write their index."""
    for name, values in zip(columns, x.T, strict=True):
        if not _UNNAMED.fullmatch(name) or (values != np.rint(values)).any():
            continue
        if len(np.unique(values)) == len(values):
            raise FedbenchError(
                f"{where}: a column named {name!r} numbers the rows and is no feature: it is the "
                "index that pandas writes; write the table with `index=False`"
            )


def _check_columns(where: str, columns: Sequence[str], label: str) -> None:
    if not columns:
        raise FedbenchError(f"{where}: the file is empty; it must be {_LAYOUT}")
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
        found = [mark for mark in (";", "\t", "|") if mark in columns[0]]
        other = f" (cells are separated by {found[0]!r}, not by commas)" if found else ""
        raise FedbenchError(
            f"{where}: the file has one column{other}; it needs labels and features"
        )


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

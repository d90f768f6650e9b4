"""Reads a CSV file of numbers that has one column of labels.

pandas reads it; the module csv names the columns, and finds the line of what pandas refuses.
"""

import csv
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedbench.base.errors import FedbenchError, failing, short

# as `pandas.read_csv` takes values for missing, and as text ends up that was made of some
_NUMBERS = {"nan", "-nan", "NaN", "-NaN", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"}
MISSING = _NUMBERS | {"", "NA", "#NA", "N/A", "n/a", "#N/A", "#N/A N/A", "<NA>", "NaT", "None"}
MISSING |= {"NULL", "null"}

_LAYOUT = "comma-separated UTF-8 text whose first line names the columns"
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(r"\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?\s*", re.IGNORECASE)
_TRUTH = ("true", "false")  # columns of these are 1 and 0, as pandas reads what it has written
_UNNAMED = re.compile(r"(Unnamed: [0-9]+)?")
_CELLS = 2_000_000  # that are in memory at a time, beside the result


class LabelledRows(NamedTuple):
    """Numbers (N, features), labels (N,), which are int64 or words, and the columns' names.

    `groups` (N,) are the words of the column that says whose each row is, if there is one.
    """

    x: NDArray[np.float32]
    y: NDArray[Any]
    columns: tuple[str, ...]  # of x
    label: str  # of y
    groups: NDArray[Any] | None = None


def read_csv(
    file: Path, where: str, label: str, group: str = "", numbers: bool = False
) -> LabelledRows:
    """The rows of a CSV file; their labels stand in the column `label`, or in the last if it is ''.

    The column `group` says whose each row is and is no feature. With `numbers` labels are numbers.

    Raises `FedbenchError`, which begins with `where`, if the file is not such a table, or names
    line and column of a cell that is not a finite number, of a missing label, or of a row with too
    few or too many cells.
    """
    damaged = (OSError, UnicodeDecodeError, csv.Error)
    with failing(f"{where}: the file is not a readable table", f"it must be {_LAYOUT}", damaged):
        columns = _names(file, where)
        _check_columns(where, columns, label, group)
        label = label or columns[-1]
        x, words = _read(file, where, columns, [label] + [group] * bool(group))
    names = tuple(name for name in columns if name not in words)
    _refuse_index(where, x, names)
    name_labels = _measured if numbers else _labels
    y = name_labels(words[label], f"{where}: column {label!r}")
    return LabelledRows(x, y, names, label, np.array(words[group]) if group else None)


def _opened(file: Path) -> TextIO:
    return file.open(encoding="utf-8-sig", newline="")


def _names(file: Path, where: str) -> list[str]:
    """The names of the columns; what pandas would pass over raises.

    That is a first row of another width, which would be that of all rows, and a stray quote.
    """
    with _opened(file) as stream:
        rows = _rows(csv.reader(stream, strict=True), where)
        _, names = next(rows, (0, None))
        if names is None or next(rows, None) is None:
            problem = "is empty" if names is None else "has no row below its first line"
            raise FedbenchError(f"{where}: the file {problem}; it must be {_LAYOUT}")
        if _quoted(file):
            for _ in rows:
                pass
    return [cell.strip() for cell in names]


def _quoted(file: Path) -> bool:
    with file.open("rb") as stream:
        return any(b'"' in piece for piece in iter(lambda: stream.read(1 << 20), b""))


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


def _read(
    file: Path, where: str, columns: Sequence[str], texts: Sequence[str]
) -> tuple[NDArray[np.float32], dict[str, list[str]]]:
    """The features, and by name the columns `texts` as they are written."""
    x: list[NDArray[np.float32]] = []
    words: dict[str, list[str]] = {name: [] for name in texts}
    at = {str(columns.index(name)): name for name in texts}
    try:
        with _opened(file) as stream:
            next(_rows(csv.reader(stream, strict=True), where))  # pandas begins below the names
            for frame in _frames(stream, len(columns), at):
                told = frame[[*at]].apply(lambda cells: cells.str.strip())
                values = _single(frame.drop(columns=[*at]).to_numpy(np.float64))
                if not np.isfinite(values).all() or told.isin(MISSING).any(axis=None):
                    raise ValueError("a number that is not finite, or a label that is missing")
                for place, name in at.items():
                    words[name].extend(told[place])
                x.append(values)
    except (ValueError, pd.errors.ParserError) as error:
        for allowed in (_TRUTH, ()):  # these are numbers only if all cells of a column are
            _refuse_first(file, where, columns, texts, allowed, sound=sum(map(len, x)))
        raise FedbenchError(f"{where}: pandas cannot read the table ({short(error)})") from error
    return np.concatenate(x), words


def _frames(stream: TextIO, width: int, at: Collection[str]) -> Iterator[pd.DataFrame]:
    """The rows below the names, some at a time; columns `at` are text as it is written."""
    return pd.read_csv(
        stream, header=None, names=[str(k) for k in range(width)], index_col=False, na_filter=False,
        dtype={str(k): object if str(k) in at else np.float64 for k in range(width)},
        chunksize=max(1, _CELLS // width),
    )  # fmt: skip


def _single(values: NDArray[np.float64]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # what is too large becomes infinite and is refused
        return values.astype(np.float32)


def _refuse_first(
    file: Path,
    where: str,
    columns: Sequence[str],
    texts: Sequence[str],
    words: Sequence[str],
    sound: int,
) -> None:
    """Raise `FedbenchError` with line and column of the first cell that is not as it must be.

    A feature may be a finite number or one of `words`. The first `sound` rows have been read.
    """
    with _opened(file) as stream:
        rows = _rows(csv.reader(stream, strict=True), where)
        for line, cells in islice(rows, 1 + sound, None):
            for name in texts:
                _refuse_label(cells[columns.index(name)].strip(), f"{where}: line {line}", name)
            for name, cell in zip(columns, cells, strict=True):
                if name not in texts and not (cell.strip().lower() in words or _finite(cell)):
                    raise FedbenchError(
                        f"{where}: line {line}, column {name!r} has {cell!r}; "
                        "features must be finite numbers"
                    )


def _finite(cell: str) -> bool:
    return bool(_NUMBER.fullmatch(cell) and np.isfinite(_single(np.array(float(cell)))))


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


def _check_columns(where: str, columns: Sequence[str], label: str, group: str) -> None:
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
    _check_texts(where, columns, label, group)


def _check_texts(where: str, columns: Sequence[str], label: str, group: str) -> None:
    for name, use in ((label, "the labels"), (group, "the groups")):
        if name and name not in columns:
            raise FedbenchError(
                f"{where}: there is no column {name!r} for {use}, only "
                f"{', '.join(map(repr, columns))}"
            )
    if group and group == (label or columns[-1]):
        raise FedbenchError(
            f"{where}: the column {group!r} cannot hold labels and groups; `label` names the labels"
        )
    if len(columns) < 2 + bool(group):
        found = [mark for mark in (";", "\t", "|") if mark in columns[0]]
        other = f" (cells are separated by {found[0]!r}, not by commas)" if found else ""
        raise FedbenchError(
            f"{where}: the file has one column{other}; it needs labels and features"
        )


def _labels(words: Sequence[str], where: str) -> NDArray[Any]:
    if all(_WHOLE.fullmatch(word) for word in words):
        return np.array([int(word) for word in words], dtype=np.int64)
    if all(_is_number(word) for word in words):
        first = next(word for word in words if not _WHOLE.fullmatch(word))
        raise FedbenchError(f"{where} has label {first!r}; labels must be whole numbers or words")
    return np.array(words)


def _measured(words: Sequence[str], where: str) -> NDArray[Any]:
    for word in words:
        if not _finite(word):
            raise FedbenchError(f"{where} has label {word!r}; labels must be finite numbers")
    return np.array([float(word) for word in words], dtype=np.float32)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True

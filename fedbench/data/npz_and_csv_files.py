"""Data sets in files: npz archives, CSV tables, and the numbers that stand for their labels."""

import csv
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedbench.base.errors import FedbenchError, at, failing
from fedbench.base.files import atomic
from fedbench.data.dataset import Dataset

# as `pandas.read_csv` takes values for missing, and as text ends up that was made of some
_NUMBERS = {"nan", "-nan", "NaN", "-NaN", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"}
MISSING = _NUMBERS | {"", "NA", "#NA", "N/A", "n/a", "#N/A", "#N/A N/A", "<NA>", "NaT", "None"}
MISSING |= {"NULL", "null"}
NO_LABEL = "so missing values are written, and every sample needs one; name it otherwise"
FIELDS = ("x_train", "y_train", "x_test", "y_test")
Arrays = Mapping[str, Any]
_LAYOUT = "comma-separated UTF-8 text whose first line names the columns"
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_TRUTH = ["true", "false"]  # columns of these are 1 and 0, as pandas reads what it has written
_UNNAMED = re.compile(r"(Unnamed: [0-9]+)?")
_EXACT = 2**24  # from which on float32 leaves out whole numbers
_CELLS = 500_000  # that are text in memory at a time, beside the result


class Samples(NamedTuple):
    """Samples x (N, …), their labels y (N,), and whose each is (N,) if that is told."""

    x: Any
    y: Any
    groups: Any = None


def read_npz(
    file: Path, name: str, fewer: Sequence[str] = (), optional: Sequence[str] = ()
) -> Arrays:
    """The arrays `FIELDS` of an npz file, or `fewer` if it has only these; `optional` ones."""
    remedy = f"it must hold {', '.join(FIELDS)}; delete it or put a sound one in its place"
    arrays = {}
    with at(f"{name} ({file})"):
        with failing("the file is not a readable npz archive", remedy):
            archive = np.load(file, allow_pickle=False)  # objects in it might run code
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise FedbenchError("the file holds a single array; it must be an npz archive")
        with archive:
            held = archive.files
            some = fewer and set(fewer) <= set(held) and not set(FIELDS) <= set(held)
            wanted = fewer if some else FIELDS
            for field in (*wanted, *(each for each in optional if each in held)):
                if field not in held:
                    either = f" or {', '.join(fewer)}" if fewer else ""
                    raise FedbenchError(
                        f"{field} is missing; the file must hold {', '.join(FIELDS)}{either}; it "
                        f"holds {', '.join(held) or 'nothing'}"
                    )
                with failing(f"{field} cannot be read", "it must be a plain numeric array"):
                    arrays[field] = archive[field]
                if not isinstance(arrays[field], np.ndarray):
                    raise FedbenchError(f"{field} is not a NumPy array, which it must be")
    if unread := [each for each in held if each not in arrays]:
        known = ", ".join((*FIELDS, *fewer, *optional))
        warnings.warn(f"{file}: {', '.join(unread)} are not read, only {known}", stacklevel=2)
    return arrays


def write_npz(file: Path, arrays: Arrays) -> None:
    """Write the npz file atomically: no reader sees a part of it."""
    with atomic(file) as scratch, scratch.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **{field: arrays[field] for field in FIELDS})


def read_csv(
    file: Path, label: str, group: str = "", numbers: bool = False
) -> tuple[Samples, tuple[str, ...], str]:
    """The rows of a CSV file, the names of the features, and the name of the labels' column.

    Labels, as written, stand in the column `label`, or in the last if it is ''. The column `group`
    says whose each row is and is no feature. With `numbers` labels are float32.
    """
    damaged = (OSError, UnicodeDecodeError, csv.Error)
    with (
        failing("the file is not a readable table", f"it must be {_LAYOUT}", damaged),
        file.open(encoding="utf-8-sig", newline="") as stream,
    ):
        rows = _rows(csv.reader(stream, strict=True))
        columns = [cell.strip() for cell in next(rows, (0, []))[1]]
        first = next(rows, None)
        if first is None:
            problem = "has no row below its first line" if columns else "is empty"
            raise FedbenchError(f"the file {problem}; it must be {_LAYOUT}")
        _check_columns(columns)
        _check_uses(columns, label, group)
        label = label or columns[-1]
        texts, pieces = [label] + [group] * bool(group), []
        rows, at_a_time = chain([first], rows), max(1, _CELLS // len(columns))
        while some := [*islice(rows, at_a_time)]:
            pieces.append(_read(some, columns, texts))
    names = tuple(name for name in columns if name not in texts)
    for name, *truths in zip(names, *(truths for *_, truths in pieces), strict=True):
        if len({*truths}) > 1:
            raise FedbenchError(f"column {name!r} mixes true and false with numbers")
    x = np.concatenate([x for x, *_ in pieces])
    words = {name: [word for _, each, _ in pieces for word in each[name]] for name in texts}
    _refuse_index(x, names)
    y = _measured(words[label], label) if numbers else np.array(words[label])
    return Samples(x, y, np.array(words[group]) if group else None), names, label


def _rows(reader: Any) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and cells; empty lines are skipped."""
    width = 0
    for cells in reader:
        if len(cells) < 2 and not "".join(cells).strip():
            continue
        width = width or len(cells)
        if len(cells) != width:
            line = f"line {reader.line_num}"
            raise FedbenchError(f"{line} has {len(cells)} cells, but the first line has {width}")
        yield reader.line_num, cells


def _read(
    rows: Sequence[tuple[int, list[str]]], columns: list[str], texts: list[str]
) -> tuple[NDArray[np.float32], pd.DataFrame, list[bool]]:
    """The features of some rows, checked, columns `texts` as written, which are true or false."""
    table = pd.DataFrame([cells for _, cells in rows], columns=columns, dtype=object)
    words = table[texts].apply(lambda cells: cells.str.strip())
    written = table.drop(columns=texts)
    read = written.apply(_numbers)
    with np.errstate(over="ignore"):  # what is too large becomes infinite and is refused
        x = read.to_numpy(np.float32)
    for name, kept in zip(read, x.T, strict=True):
        if (abs(kept) >= _EXACT).any() and read[name].nunique() > len(np.unique(kept)):
            said = "has numbers that the 32 bits of a feature do not tell apart, as ids may be"
            warnings.warn(f"column {name!r} {said}; subtract a constant", stacklevel=2)
    bad, missing = ~np.isfinite(x), words.isin(MISSING).to_numpy().any(axis=1)
    if bad.any() or missing.any():
        strange = bad & ~written.apply(_is_truth).to_numpy()
        bad = strange if strange.any() else bad
        row = int((bad.any(axis=1) | missing).argmax())
        line = f"line {rows[row][0]}"
        for name, word in words.iloc[row].items():
            if word in MISSING:
                what = "label" if name == texts[0] else "group"
                raise FedbenchError(f"{line}, column {name!r} has the {what} {word!r}; {NO_LABEL}")
        name, cell = written.columns[bad[row].argmax()], written.iloc[row, bad[row].argmax()]
        raise FedbenchError(
            f"{line}, column {name!r} has {cell!r}; features must be finite numbers"
        )
    return x, words, [kind == "bool" for kind in read.dtypes]


def _is_truth(cells: pd.Series) -> pd.Series:
    return cells.str.lower().isin(_TRUTH)


def _numbers(cells: pd.Series) -> pd.Series:
    """The cells of a column as numbers, or NaN."""
    values = pd.to_numeric(cells, errors="coerce")
    if values.isna().all() and _is_truth(cells).all():
        return cells.str.lower() == _TRUTH[0]
    return values


def _refuse_index(x: NDArray[np.float32], columns: Sequence[str]) -> None:
    """Refuse a column without a name that numbers the rows, as pandas and R write their index."""
    for name, values in zip(columns, x.T, strict=True):
        whole = _UNNAMED.fullmatch(name) and (values == np.rint(values)).all()
        if whole and len(np.unique(values)) == len(values):
            said = f"a column named {name!r} numbers the rows, as the index that pandas writes"
            raise FedbenchError(f"{said}; write the table with `index=False`")


def _check_columns(columns: list[str]) -> None:
    numbers = [name for name in columns if _NUMBER.fullmatch(name)]
    places = [int(name) for name in numbers if _WHOLE.fullmatch(name)]
    if len(places) == len(numbers) < len(columns) and places == sorted({*places}):
        numbers = []  # heads 0, 1, 2 beside a name
    if numbers:
        raise FedbenchError(f"line 1 must name the columns, but {numbers[0]!r} is a number")
    if twice := [name for name in columns if columns.count(name) > 1]:
        raise FedbenchError(f"two columns are named {twice[0]!r}; names must differ")


def _check_uses(columns: Sequence[str], label: str, group: str) -> None:
    for name, use in ((label, "the labels"), (group, "the groups")):
        if name and name not in columns:
            named = ", ".join(map(repr, columns))
            raise FedbenchError(f"there is no column {name!r} for {use}, only {named}")
    if group and group == (label or columns[-1]):
        raise FedbenchError(f"the column {group!r} cannot hold labels and groups; set `label`")
    if len(columns) < 2 + bool(group):
        found = [mark for mark in (";", "\t", "|") if mark in columns[0]]
        other = f" (cells are separated by {found[0]!r}, not by commas)" if found else ""
        raise FedbenchError(f"the file has one column{other}; it needs labels and features")


def typed(parts: list[Samples], column: str) -> list[Samples]:
    """The parts of a table with labels as int64, if those of all are whole numbers, else words."""
    words = [*dict.fromkeys(chain(*(part.y.tolist() for part in parts)))]
    if not all(_NUMBER.fullmatch(word) for word in words):
        return parts
    if label := next((word for word in words if not _WHOLE.fullmatch(word)), ""):
        said = f"column {column!r} has label {label!r}, not a whole number or a word"
        raise FedbenchError(f"{said}; if labels are measured, set `regression: true`")
    if len({*map(int, words)}) < len(words):  # they are codes, such as 01 beside 1
        return parts
    return [part._replace(y=part.y.astype(np.int64)) for part in parts]


def _measured(words: Sequence[str], column: str) -> NDArray[Any]:
    with np.errstate(over="ignore"):
        values = pd.to_numeric(pd.Series(words), errors="coerce").to_numpy(np.float32)
    if len(bad := np.flatnonzero(~np.isfinite(values))):
        raise FedbenchError(f"column {column!r} has label {words[bad[0]]!r}, no finite number")
    return np.array([float(word) for word in words], dtype=np.float32)


def split(samples: Samples, strata: NDArray[Any], share: float, seed: int) -> list[Samples]:
    """Training and test samples: of each stratum `share` is drawn by `seed`, but never all."""
    given = {name: each for name, each in samples._asdict().items() if each is not None}
    for name, each in given.items():
        if each.shape[:1] != strata.shape:
            raise FedbenchError(f"{name} has shape {each.shape}, labels or groups {strata.shape}")
    rng, test = np.random.default_rng(seed), np.zeros(len(strata), dtype=bool)
    for each in np.unique(strata):
        rows = rng.permutation(np.flatnonzero(strata == each))
        test[rows[: min(round(share * len(rows)), len(rows) - 1)]] = True
    if not test.any():
        raise FedbenchError(
            f"test = {share} of each class or group is none; it must be larger, and one must have "
            "two samples"
        )
    halves = ({name: each[rows] for name, each in given.items()} for rows in (~test, test))
    return [Samples(**half) for half in halves]


def different(name: str, y: NDArray[Any]) -> NDArray[Any]:
    """The different labels, sorted: two or more, which are whole numbers ≥ 0 or words."""
    if y.ndim != 1 or y.dtype.kind not in "iuU":
        raise FedbenchError(
            f"{name} is {y.dtype} of shape {y.shape}; labels must be whole numbers or words (N,)"
        )
    classes = np.unique(y)
    for word in (str(each) for each in classes if str(each).strip() in MISSING):
        place = np.flatnonzero(y == word)[0]
        raise FedbenchError(f"{name} has the label {word!r} at position {place}; {NO_LABEL}")
    if len(classes) < 2:
        seen = f"only the label {str(classes[0])!r}" if len(classes) else "no labels"
        raise FedbenchError(f"{name} has {seen}; it needs at least two classes")
    if y.dtype.kind == "i" and classes[0] < 0:
        raise FedbenchError(f"{name} has label {classes[0]}; whole numbers must be ≥ 0")
    return classes


def numbered(names: list[str], parts: list[Samples]) -> tuple[NDArray[Any], list[Samples]]:
    """The classes of the first part, sorted, and the parts with the places of labels among them."""
    classes, found = different(names[0], parts[0].y), []
    kinds = "U" if classes.dtype.kind == "U" else "iu"
    for name, part in zip(names, parts, strict=True):
        y = part.y.astype(str) if kinds == "U" and part.y.dtype.kind in "iu" else part.y
        if y.ndim != 1 or y.dtype.kind not in kinds:
            kind = f"{y.dtype} of shape {y.shape}"
            raise FedbenchError(f"{name} is {kind}; those to train on are {classes.dtype} (N,)")
        for place in np.flatnonzero(~np.isin(y, classes)):
            said = f"no training sample has label {str(y[place])!r}, at position {place}"
            remedy = "draw the test set by another `seed`, or leave the class out"
            raise FedbenchError(f"{name}: {said}; {remedy}")
        found.append(part._replace(y=np.searchsorted(classes, y).astype(np.int64)))
    return classes, found


def dataset(name: str, train: Samples, test: Samples, **more: Any) -> Dataset:
    """The data set of these samples; groups are numbered in sorted order, if they are told."""
    told = {"groups": train.groups, "groups_test": test.groups}
    given = {field: each for field, each in told.items() if each is not None}
    if any(each.ndim != 1 or each.dtype.kind not in "iuU" for each in given.values()):
        place = f"{name} ({more['origin']['file']})"
        raise FedbenchError(f"{place}: groups must be whole numbers or words, one per sample")
    groups = np.unique(np.concatenate([*given.values()])) if given else np.array([])
    more |= {field: np.searchsorted(groups, each).astype(np.int64) for field, each in given.items()}
    return Dataset(name, train.x, train.y, test.x, test.y, **more)

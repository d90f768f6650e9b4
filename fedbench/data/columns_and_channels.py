"""What the columns of a table and the channels of images hold, and what is hardly learned from."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbench.data.dataset import Dataset, Normalisation

_SHOWN = 5  # columns that a sentence names
_FEW = 10  # with fewer rows, or fewer rows per value, what is found may be chance
_SPREAD = 2  # times the rows: as far as the numbers of rows reach of which some went for testing
_CHUNK = 4096  # rows that are turned into floats at a time
_LARGE = 10.0  # a larger column dominates the others
_ROUNDING = 1e-9  # a deviation below this share of the mean counts as none
_LOOKED = 256  # images in which the brightest pixel is sought: files may be larger than memory
_DARK = 32  # pixels of real images are brighter; those of digits go up to 16 before they are scaled
Column = NDArray[Any]
Moments = tuple[NDArray[np.float64], NDArray[np.float64]]
Scales = Moments | Normalisation  # a mean and a deviation for each column or channel


def is_table(data: Dataset) -> bool:
    """Whether the samples are rows of numbers: neither images nor texts."""
    return len(data.shape) == 1 and not data.vocabulary


def described(data: Dataset) -> dict[str, str]:
    """What each column that is used as a feature holds in the training rows, by its name."""
    words = {}
    for name, values in zip(_names(data), data.x_train.T, strict=True):
        different = np.unique(values)
        whole = "whole numbers" if (different == np.rint(different)).all() else "numbers"
        low, high = different[0], different[-1]
        words[name] = f"{whole} from {low:g} to {high:g}, {len(different):,} different"
    return words


def suspicions(data: Dataset) -> Iterator[str]:
    """A sentence for each kind of column of the training rows that is hardly a feature."""
    x, y = data.x_train.T, data.y_train
    yield from index_columns(data)
    if constant := [k for k, values in enumerate(x) if (values == values[0]).all()]:
        yield f"{chosen(data, constant)}: one value in all training rows, which teaches nothing"
    if leaks := [k for k, values in enumerate(x) if data.classes and tells(values, y)]:
        yield f"{chosen(data, leaks)}: each tells all classes apart alone, as the label itself does"


def index_columns(data: Dataset) -> Iterator[str]:
    """A sentence on the columns that number the rows, if there are any."""
    if found := [k for k, values in enumerate(data.x_train.T) if numbers_rows(values)]:
        yield (
            f"{chosen(data, found)}: numbers of the rows, which tell the label if rows are sorted, "
            "but not that of new data; leave them out"
        )


def chosen(data: Dataset, places: Sequence[int], kind: str = "column") -> str:
    """Some columns or channels in words: 'a, b of 9 columns'."""
    names = _names(data, kind)
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    return f"{', '.join(names[k] for k in places[:_SHOWN])}{more} of {len(names)} {kind}s"


def numbers_rows(values: Column) -> bool:
    """Whether these are different whole numbers in the order of the rows, or next to each other."""
    few = len(np.unique(values[:_FEW])) < _FEW  # as in most columns
    if few or (values != np.rint(values)).any():
        return False
    if (values[1:] > values[:-1]).all() or (values[1:] < values[:-1]).all():
        return True
    rows = len(values)
    return bool(np.ptp(values) < _SPREAD * rows and len(np.unique(values)) == rows)


def tells(values: Column, labels: Column) -> bool:
    """Whether each value has one class only, in an interval per class or in many rows per value."""
    if len(values) < _FEW:
        return False
    order = np.argsort(values, kind="stable")
    again, other = (each[order][1:] == each[order][:-1] for each in (values, labels))
    if (again & ~other).any():
        return False
    intervals, different = 1 + (~other).sum(), 1 + (~again).sum()
    return bool(intervals == len(np.unique(labels)) or len(values) >= _FEW * different)


def _names(data: Dataset, kind: str = "column") -> tuple[str, ...]:
    return data.columns or tuple(f"{kind} {i}" for i in range(1, data.shape[0] + 1))


def scales(data: Dataset, rows: NDArray[np.int64], normalise: bool) -> Scales | None:
    """What a run normalises by: the usual scales of pixels, or the moments of these rows; or None.

    Warns of columns that number the rows, and of values that ask for a scaling that is left out.
    """
    if data.vocabulary:
        return None
    for found in index_columns(data) if is_table(data) else ():
        warnings.warn(f"data set '{data.name}': {found}", stacklevel=2)  # which tells the label
    if not normalise:
        warn_unscaled(data, rows)
        return None
    return data.normalisation if data.pixels and data.normalisation else moments(data, rows)


def moments(data: Dataset, rows: NDArray[np.int64]) -> Moments:
    """Mean and deviation (of the population; 1 for 0) per channel or column of these rows."""
    images = len(data.shape) == 3
    axes = (0, 1, 2) if images else (0,)
    values = len(rows) * (data.shape[1] * data.shape[2] if images else 1)
    mean = sum(piece.sum(axes) for piece in _pieces(data, rows)) / values
    squares = sum(((piece - mean) ** 2).sum(axes) for piece in _pieces(data, rows))
    std = np.sqrt(squares / values)
    varies = std > _ROUNDING * np.abs(mean)
    return np.atleast_1d(mean), np.atleast_1d(np.where(varies, std, 1.0))


def _pieces(data: Dataset, rows: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
    unit = 255.0 if data.pixels else 1.0
    for first in range(0, len(rows), _CHUNK):
        yield data.x_train[rows[first : first + _CHUNK]].astype(np.float64) / unit


def warn_unscaled(data: Dataset, rows: NDArray[np.int64]) -> None:
    """Warn of values so large, or of pixels so dark, that training may learn nothing from them."""
    found = ""
    if not data.pixels:
        large = np.flatnonzero(np.maximum(*(np.abs(each) for each in moments(data, rows))) > _LARGE)
        if len(large):
            kind = "column" if len(data.shape) == 1 else "channel"
            named = chosen(data, large.tolist(), kind)
            found = f"{named} have a mean or standard deviation above {_LARGE:g}"
    elif (brightest := int(data.x_train[rows[:_LOOKED]].max())) < _DARK:  # as images of 0 and 1
        found = f"uint8 pixels are divided by 255, but the largest that was found is {brightest}"
    if found:
        warnings.warn(
            f"data set '{data.name}': {found}, so that training may learn nothing; set "
            "normalise: true",
            stacklevel=2,
        )

"""Numbers the labels of a user's file from 0, and draws a share of every class as the test set."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbench.base.errors import FedbenchError

# as `pandas.read_csv` takes values for missing, and as text ends up that was made of some
_NUMBERS = {"nan", "-nan", "NaN", "-NaN", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"}
MISSING = _NUMBERS | {"", "NA", "#NA", "N/A", "n/a", "#N/A", "#N/A N/A", "<NA>", "NaT", "None"}
MISSING |= {"NULL", "null"}


def different(where: str, y: NDArray[Any]) -> NDArray[Any]:
    """The different labels, sorted; raises `FedbenchError` if there are fewer than two classes.

    A class is a whole number ≥ 0 or a word.
    """
    if y.ndim != 1 or y.dtype.kind not in "iuU":
        raise FedbenchError(
            f"{where} is {y.dtype} of shape {y.shape}; labels must be whole numbers or words (N,)"
        )
    classes = np.unique(y)
    _refuse_missing(where, y, classes)
    if len(classes) < 2:
        seen = f"only the label {str(classes[0])!r}" if len(classes) else "no labels"
        raise FedbenchError(f"{where} has {seen}; it needs at least two classes")
    if y.dtype.kind == "i" and classes[0] < 0:
        raise FedbenchError(f"{where} has label {classes[0]}; whole numbers must be ≥ 0")
    return classes


def _refuse_missing(where: str, y: NDArray[Any], classes: NDArray[Any]) -> None:
    """Refuse a word that stands for a missing label."""
    for word in (str(each) for each in classes if str(each).strip() in MISSING):
        raise FedbenchError(
            f"{where} has the label {word!r} at position {np.flatnonzero(y == word)[0]}, as "
            "missing values are written; every sample needs one; if it is a class, give it another "
            "name"
        )


def numbered(where: str, y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """Each label's position in the sorted `classes`; raises `FedbenchError` if it has none."""
    if y.ndim != 1 or y.dtype.kind not in ("U" if classes.dtype.kind == "U" else "iu"):
        raise FedbenchError(
            f"{where} is {y.dtype} of shape {y.shape}; labels must be (N,) and {classes.dtype} as "
            "in the training data"
        )
    unknown = np.flatnonzero(~np.isin(y, classes))
    if len(unknown):
        raise FedbenchError(
            f"{where} has label {str(y[unknown[0]])!r} at position {unknown[0]}; "
            "no training sample has it"
        )
    return np.searchsorted(classes, y).astype(np.int64)


def set_apart(y: NDArray[Any], share: float, seed: int) -> NDArray[np.bool_]:
    """Mark the share `share` of every class, drawn by `seed`, but never all of a class."""
    rng, chosen = np.random.default_rng(seed), np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        chosen[rows[: min(round(share * len(rows)), len(rows) - 1)]] = True
    return chosen

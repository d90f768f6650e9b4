"""Labels from a user's file, numbered from 0; a share of every class set apart for testing."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbench.base.errors import FedbenchError


def different(where: str, y: NDArray[Any]) -> NDArray[Any]:
    """The different labels, sorted; raises `FedbenchError` unless they are two or more classes.

    A class is a whole number ≥ 0 or a word.
    """
    if y.ndim != 1 or y.dtype.kind not in "iuU":
        raise FedbenchError(
            f"{where} is {y.dtype} of shape {y.shape}; labels must be whole numbers or words (N,)"
        )
    found = np.unique(y)
    if len(found) < 2:
        seen = f"only the label {str(found[0])!r}" if len(found) else "no labels"
        raise FedbenchError(f"{where} has {seen}; it needs at least two classes")
    if y.dtype.kind == "i" and found[0] < 0:
        raise FedbenchError(f"{where} has label {found[0]}; whole numbers must be ≥ 0")
    return found


def numbered(where: str, y: NDArray[Any], known: NDArray[Any]) -> NDArray[np.int64]:
    """Each label's place among the sorted `known`; raises `FedbenchError` on one not there."""
    if y.ndim != 1 or y.dtype.kind not in ("U" if known.dtype.kind == "U" else "iu"):
        raise FedbenchError(
            f"{where} is {y.dtype} of shape {y.shape}; labels must be (N,) and {known.dtype} as "
            "in the training data"
        )
    unknown = np.flatnonzero(~np.isin(y, known))
    if len(unknown):
        raise FedbenchError(
            f"{where} has label {str(y[unknown[0]])!r} at position {unknown[0]}; "
            "no training sample has it"
        )
    return np.searchsorted(known, y).astype(np.int64)


def set_apart(y: NDArray[Any], share: float, seed: int) -> NDArray[np.bool_]:
    """Mark `share` of every class, drawn by `seed`; at least one sample a class stays unmarked."""
    rng, chosen = np.random.default_rng(seed), np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        chosen[rows[: min(round(share * len(rows)), len(rows) - 1)]] = True
    return chosen

"""Labels as a user's file has them, numbered from 0, and a share of every class set apart."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbench.errors import FedbenchError

Names = Sequence[str]  # of the classes; empty if the labels were numbers already


def class_names(where: str, y: NDArray[Any]) -> Names:
    """The different words of `y`, sorted, or nothing if it has the numbers 0…C−1, each of them.

    Raises `FedbenchError` on other labels and on a single class.
    """
    if y.ndim != 1 or y.dtype.kind not in "iuU":
        raise FedbenchError(
            f"{where} is {y.dtype} of shape {y.shape}; labels must be whole numbers or words (N,)"
        )
    found = np.unique(y)
    if len(found) < 2:
        seen = f"only the label {str(found[0])!r}" if len(found) else "no labels"
        raise FedbenchError(f"{where} has {seen}; it needs at least two classes")
    if y.dtype.kind == "U":
        return [str(word) for word in found]
    missing = np.flatnonzero(found != np.arange(len(found)))
    if len(missing):
        raise FedbenchError(
            f"{where} has label {found[missing[0]]} but no {missing[0]}; "
            "labels must be numbered from 0 without gaps, or be words"
        )
    return []


def numbered(where: str, y: NDArray[Any], names: Names) -> NDArray[Any]:
    """Words as their place among `names`; raises `FedbenchError` on a word that is not there."""
    if not names:
        return y
    if y.dtype.kind != "U":
        raise FedbenchError(f"{where} is {y.dtype}; its labels must be words like the others")
    unknown = np.flatnonzero(~np.isin(y, names))
    if len(unknown):
        raise FedbenchError(
            f"{where} has label {str(y[unknown[0]])!r} at position {unknown[0]}, which no training "
            f"sample has; labels must be among {', '.join(map(repr, names))}"
        )
    return np.searchsorted(names, y).astype(np.int64)


def set_apart(y: NDArray[Any], share: float, seed: int) -> NDArray[np.bool_]:
    """Mark `share` of every class, drawn by `seed`; at least one sample a class stays unmarked."""
    rng, chosen = np.random.default_rng(seed), np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        chosen[rows[: min(round(share * len(rows)), len(rows) - 1)]] = True
    return chosen

"""Samples of the user's with labels and groups as written, and the numbers that stand for these."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbench.base.errors import FedbenchError
from fedbench.data.dataset import Dataset

# as `pandas.read_csv` takes values for missing, and as text ends up that was made of some
_NUMBERS = {"nan", "-nan", "NaN", "-NaN", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"}
MISSING = _NUMBERS | {"", "NA", "#NA", "N/A", "n/a", "#N/A", "#N/A N/A", "<NA>", "NaT", "None"}
MISSING |= {"NULL", "null"}
NO_LABEL = "so missing values are written, and every sample needs a label; name the class otherwise"


class Samples(NamedTuple):
    """Samples x (N, …), their labels y (N,), and whose each is (N,) if that is told."""

    x: Any
    y: Any
    groups: Any = None


def split(samples: Samples, strata: NDArray[Any], share: float, seed: int) -> list[Samples]:
    """Training and test samples: of each stratum `share` is drawn by `seed`, but never all."""
    given = {name: each for name, each in samples._asdict().items() if each is not None}
    for name, each in given.items():
        if each.shape[:1] != strata.shape:
            raise FedbenchError(
                f"{name} has shape {each.shape}, but the labels or groups have {strata.shape}"
            )
    rng, test = np.random.default_rng(seed), np.zeros(len(strata), dtype=bool)
    for each in np.unique(strata):
        rows = rng.permutation(np.flatnonzero(strata == each))
        test[rows[: min(round(share * len(rows)), len(rows) - 1)]] = True
    if not test.any():
        raise FedbenchError(f"test = {share} of {len(strata)} samples is none; it must be larger")
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
        y = part.y
        if y.ndim != 1 or y.dtype.kind not in kinds:
            kind = f"{y.dtype} of shape {y.shape}"
            raise FedbenchError(f"{name} is {kind}; those to train on are {classes.dtype} (N,)")
        if len(unknown := np.flatnonzero(~np.isin(y, classes))):
            label, place = str(y[unknown[0]]), unknown[0]
            raise FedbenchError(
                f"{name}: no training sample has label {label!r}, at position {place}"
            )
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

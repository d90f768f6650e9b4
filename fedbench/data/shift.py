"""The base of shifts: what differs between clients' data beyond which samples they hold."""

from abc import ABC
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbench.base import seeds
from fedbench.base.checks import Checked
from fedbench.base.errors import FedbenchError
from fedbench.data.dataset import Dataset
from fedbench.data.partition import Rows, label_counts, mirror, own_test_rows, refuse_overlap


class Place(NamedTuple):
    """Whose data are changed: client `client` of `K`, with a generator of its own."""

    client: int
    K: int
    rng: np.random.Generator
    """It draws the same numbers in every call for one client, training samples first."""


class Shift(Checked, ABC):
    """Changes the samples of each client; a file in `fedbench/data/shifts`."""

    def require(self, data: Dataset) -> None:
        """Raise `FedbenchError`, before any training, if the rule does not fit the data."""

    def features(self, x: NDArray[Any], place: Place) -> NDArray[Any]:
        """A client's samples (n, …) as they lie in the data set, training or test samples."""
        return x

    def labels(self, y: NDArray[Any], classes: int, place: Place) -> NDArray[Any]:
        """The labels (n,) of a client's training samples; those of test samples stay."""
        return y


class Shifted(NamedTuple):
    """A data set whose training samples are as their clients see them, and clients' test data.

    x_test: the test samples as the clients see them, of whom client i has the rows own[i]; both are
    None where clients see what all see, and no sample says whose it is.
    """

    data: Dataset
    counts: NDArray[np.int64]  # how often each client has each label (K, C)
    x_test: NDArray[Any] | None
    own: list[NDArray[np.int64]] | None


def shifted(data: Dataset, rows: Rows, shifts: Sequence[Shift], seed: int) -> Shifted:
    """Apply the shifts, in order, to the samples of each client, with draws of this seed."""
    own, counts = own_test_rows(data, rows), label_counts(data.y_train, rows, data.classes)
    if not shifts:
        return Shifted(data, counts, None if own is None else data.x_test, own)
    refuse_overlap(rows, "shift: ", "each sees it changed in its own way: use another partition")
    if own is None and data.classes:  # the data do not say whose test samples are
        rng = seeds.numpy_generator(seed, seeds.ALWAYS, seeds.EVERYONE, "shift's test shares")
        own = mirror(counts, data.y_test.astype(np.int64), rng)
    x, y, x_test = data.x_train.copy(), data.y_train.copy(), data.x_test.copy()
    for shift in shifts:
        shift.require(data)
        for i, held in enumerate(rows):
            name = f"shift {type(shift).__name__.lower()}"
            place = Place(i, len(rows), seeds.numpy_generator(seed, seeds.ALWAYS, i, name))
            x[held] = _same_shape(shift, shift.features(x[held], place), x[held])
            y[held] = _same_shape(shift, shift.labels(y[held], data.classes, place), y[held])
            if own is not None and len(own[i]):
                place = place._replace(rng=seeds.numpy_generator(seed, seeds.ALWAYS, i, name))
                seen = x_test[own[i]]
                x_test[own[i]] = _same_shape(shift, shift.features(seen, place), x_test[own[i]])
    changed = replace(data, x_train=x, y_train=y, x_test=x_test, channels=data.channels)
    whole = replace(changed, x_test=data.x_test)  # on which the run is scored
    return Shifted(whole, label_counts(y, rows, data.classes), x_test, own)


def _same_shape(shift: Shift, value: Any, given: NDArray[Any]) -> NDArray[Any]:
    made = np.asarray(value)
    if made.shape != given.shape or made.dtype != given.dtype:
        kinds = (f"{each.dtype} of shape {each.shape}" for each in (made, given))
        raise FedbenchError(f"shift: {shift} made {' of '.join(kinds)}; both must stay")
    return made

"""The base of partitions: a rule takes training labels and gives each client its samples."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fedbench.base.checks import Checked, asked_for, names_of
from fedbench.base.errors import FedbenchError, at

Indices = NDArray[np.int64]
_PLACES = "; `split` gives places in `labels`, not rows of the whole training set"


@dataclass(frozen=True)
class Partition(Checked, ABC):
    """A rule that divides a training set over clients; those of fedbench are in `data/partitions`.

    A rule that looks at more of a sample than its label takes a fourth argument `groups`, the
    number of the user or site whose each sample is, or `rows`: row `rows[k]` of the training set
    has the label `labels[k]`.
    """

    by_labels: ClassVar[bool] = False  # it needs to know nothing else of the samples
    overlap: ClassVar[bool] = False  # clients may hold the same sample

    def __call__(
        self,
        labels: NDArray[Any],
        clients: int,
        rng: np.random.Generator,
        rows: Indices | None = None,
        groups: Indices | None = None,
    ) -> list[Indices]:
        """Divide the samples: per client one ascending array of sample numbers, none twice.

        `rows`: their rows in the training set; None if they are all of it. `groups`: whose they
        are; None if the data set does not say.
        """
        with at(str(self)):
            if clients < 1 or clients > len(labels):
                raise FedbenchError(
                    f"clients = {clients} is not allowed; it must be 1…{len(labels)}, the training "
                    "samples"
                )
            asks = {"rows", "groups"}.intersection(names_of(self.split))
            if "groups" in asks and groups is None:
                raise FedbenchError(
                    "it needs data that say whose each sample is: a table with a column that "
                    "`group` names, an npz file with `groups`, or a source such as leaf"
                )
            if rows is not None and not self.by_labels and not asks:
                raise FedbenchError(
                    "with held-out data it cannot know which samples are left; let split take "
                    "`rows`, their rows in the training set, or write `by_labels = True` in the "
                    "class"
                )
            every = np.arange(len(labels)) if rows is None else rows
            offered = {"rows": lambda: every, "groups": lambda: groups}
            drawn = self.split(labels, clients, rng, **asked_for(self.split, **offered))
            parts = [np.asarray(part) for part in drawn]
            for client, part in enumerate(parts):
                require_rows(part, len(labels), f"client {client}", _PLACES)
        return [np.sort(part).astype(np.int64, copy=False) for part in parts]

    @abstractmethod
    def split(
        self, labels: NDArray[Any], clients: int, rng: np.random.Generator, *args: Any, **rows: Any
    ) -> list[Indices]:
        """Divide the samples: of each client, in any order, the places in `labels`.

        A rule may take `rows`, and needs to take no more than the three arguments with a name.
        """


def require_rows(rows: NDArray[Any], samples: int, client: str, hint: str = "") -> None:
    """Raise `FedbenchError`, which begins with `client`, unless these number samples (n,)."""
    if rows.size and (rows.ndim != 1 or rows.dtype.kind not in "iu"):
        raise FedbenchError(
            f"{client} holds {rows.dtype} of shape {rows.shape}; it must be sample numbers (n,)"
        )
    if rows.size and (rows.min() < 0 or rows.max() >= samples):
        raise FedbenchError(f"{client} names a sample outside 0…{samples - 1}{hint}")


def by_class(labels: NDArray[Any], rng: np.random.Generator) -> tuple[list[Indices], Indices]:
    """The shuffled numbers of the samples of each class that has some, and how many they are."""
    if labels.dtype.kind not in "iu":
        raise FedbenchError(f"labels of dtype {labels.dtype} have no classes; use partition 'iid'")
    groups = [rng.permutation(np.flatnonzero(labels == c)) for c in np.unique(labels)]
    return groups, np.array([len(group) for group in groups])


def deal(groups: list[Indices], counts: NDArray[np.int64]) -> list[Indices]:
    """Give client k the next `counts[k, c]` samples of each group c."""
    ends = counts.cumsum(axis=0)
    pieces = [np.split(group, ends[:, c])[:-1] for c, group in enumerate(groups)]
    return [np.concatenate(piece) for piece in zip(*pieces, strict=True)]

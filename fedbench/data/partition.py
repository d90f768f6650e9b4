"""Which samples each client has: the base of the rules, and what is held out of all data."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbench.base import seeds
from fedbench.base.checks import Checked, asked_for, names_of
from fedbench.base.errors import FedbenchError, at, called, require_returned
from fedbench.data.dataset import Dataset

Indices = NDArray[np.int64]
Rows = Sequence[Indices]  # of each client, the row numbers of its samples
_WORTH_A_WORD = 0.01  # of the samples; rules that deal equal shares leave up to K−1 samples
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
            offered = {"rows": every.copy, "groups": lambda: np.array(groups)}  # it may change them
            more = asked_for(self.split, 3, **offered)
            drawn = self.split(labels.copy(), clients, rng, **more)
            require_returned("split", drawn, Iterable)
            parts = [np.asarray(part) for part in drawn]
            for client, part in enumerate(parts):
                require_rows(part, len(labels), f"client {client}", _PLACES)
        return [np.sort(part).astype(np.int64, copy=False) for part in parts]

    @abstractmethod
    def split(
        self, labels: NDArray[Any], clients: int, rng: np.random.Generator, *args: Any, **rows: Any
    ) -> list[Indices]:
        """Divide the samples: of each client, in any order, the places in `labels`."""


@dataclass(frozen=True)
class ByLabels(Partition):
    """A rule that needs to know nothing of a sample but its label."""

    by_labels = True


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
        remedy = "use 'iid', without `stratified`"
        raise FedbenchError(f"labels of dtype {labels.dtype} have no classes; {remedy}")
    groups = [rng.permutation(np.flatnonzero(labels == c)) for c in np.unique(labels)]
    return groups, np.array([len(group) for group in groups])


def deal(groups: list[Indices], counts: NDArray[np.int64]) -> list[Indices]:
    """Give client k the next `counts[k, c]` samples of each group c."""
    ends = counts.cumsum(axis=0)
    pieces = [np.split(group, ends[:, c])[:-1] for c, group in enumerate(groups)]
    return [np.concatenate(piece) for piece in zip(*pieces, strict=True)]


def hold_out(data: Dataset, share: float, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Training rows, and rows held out for validation: `share` of every class, or user if told."""
    everything = np.arange(len(data.y_train))
    if not share or data.x_held_out is not None:  # the data set brings a validation set
        return everything, everything[:0]
    rng = seeds.numpy_generator(seed, seeds.ALWAYS, seeds.EVERYONE, "held-out")
    shuffled = rng.permutation(everything)
    strata = data.y_train if data.classes else np.zeros(len(everything))
    labels = (strata if data.groups is None else data.groups)[shuffled]
    groups = [shuffled[labels == label] for label in np.unique(labels)]
    out = np.sort(np.concatenate([g[: round(share * len(g))] for g in groups]))
    if not len(out):
        said = f"validation = {share} of each class, or user if told, is none"
        raise FedbenchError(f"{said}; it must be larger")
    return np.setdiff1d(everything, out), out


def draw_partition(rule: Partition, data: Dataset, train: Indices, clients: int, seed: int) -> Rows:
    """Divide the rows `train` (n,) over the clients by the rule, with draws of this seed."""
    rng = seeds.numpy_generator(seed, seeds.ALWAYS, seeds.EVERYONE, "partition")
    whole = len(train) == len(data.y_train)
    groups = None if data.groups is None else data.groups[train]
    drawn = rule(data.y_train[train], clients, rng, None if whole else train, groups)
    check_partition(drawn, len(train), clients, np.array([], np.int64))
    if not rule.overlap:
        refuse_overlap(drawn, f"{rule}: ")
    return [train[rows] for rows in drawn]


def divide(
    data: Dataset, rule: Partition | Rows, share: float, clients: int, seed: int, name: str = ""
) -> tuple[Indices, Indices, Rows]:
    """Rows that are divided, rows held out, and each client's; errors call the rule `name`."""
    train, held_out = hold_out(data, share, seed)
    if isinstance(rule, Partition):
        with called(name or str(rule), str(rule)):
            return train, held_out, draw_partition(rule, data, train, clients, seed)
    check_partition(rule, len(data.y_train), clients, held_out)
    refuse_overlap(rule, "partition: ")
    return train, held_out, [np.array(rows, order="C") for rows in rule]


def held(rows: Rows) -> int:
    """How many samples clients hold, each counted once."""
    return len(np.unique(np.concatenate(rows)))


class Unused(NamedTuple):
    """Training samples that no client holds and that are not held out, and their share of these."""

    samples: int
    share: float

    @classmethod
    def of(cls, rows: Rows, divided: int) -> "Unused":
        """What clients with these rows leave of the samples that were divided."""
        left = divided - held(rows)
        return cls(left, left / divided)

    def words(self, data: str, partition: str, clients: int) -> str:
        """A sentence where the share is worth one, else nothing."""
        if self.share < _WORTH_A_WORD:
            return ""
        return (
            f"{self.share:.0%} of the training samples of {data} have no client: the partition "
            f"{partition} with {clients:,} clients does not use them"
        )


_MEANT = "if that is meant, write `overlap = True` in the class of a partition"


def refuse_overlap(rows: Rows, where: str, remedy: str = _MEANT) -> None:
    """Refuse a partition in which a sample has two clients."""
    samples, clients = np.unique(np.concatenate(rows), return_counts=True)
    twice = samples[clients > 1]
    if len(twice):
        one, other = [i for i, held in enumerate(rows) if twice[0] in held][:2]
        raise FedbenchError(
            f"{where}clients {one} and {other} hold the same sample, one of {len(twice):,} with "
            f"several clients; {remedy}"
        )


def check_partition(rows: Rows, samples: int, clients: int, held_out: NDArray[np.int64]) -> None:
    """Refuse a partition that does not fit the data or leaves a client without samples."""
    if len(rows) != clients:
        raise FedbenchError(f"partition: it has {len(rows)} clients, but clients = {clients}")
    for i, chosen in enumerate(map(np.asarray, rows)):
        client = f"partition: client {i}"
        if not chosen.size:
            raise FedbenchError(f"{client} has no samples; use fewer clients or less skew")
        require_rows(chosen, samples, client)
        if len(np.unique(chosen)) < len(chosen):
            raise FedbenchError(f"{client} has a sample twice")
        if np.isin(chosen, held_out).any():
            raise FedbenchError(f"{client} names a sample held out for validation")


def label_counts(labels: NDArray[Any], rows: Rows, classes: int) -> NDArray[np.int64]:
    """How often each client has each label (K, C); without classes all labels count as one."""
    whole = labels.astype(np.int64, copy=False) if classes else np.zeros(len(labels), np.int64)
    return np.array([np.bincount(whole[held], minlength=max(classes, 1)) for held in rows])


def own_test_rows(data: Dataset, rows: Rows) -> list[Indices] | None:
    """Each client's test rows; None if data do not say whose they are, or clients share a user."""
    if data.groups is None or data.groups_test is None:
        return None
    owned = [np.unique(data.groups[held]) for held in rows]
    if len(np.unique(np.concatenate(owned))) < sum(map(len, owned)):
        return None
    return [np.flatnonzero(np.isin(data.groups_test, groups)) for groups in owned]


def mirror(counts: Indices, labels: Indices, rng: np.random.Generator) -> list[Indices]:
    """Divide test samples over clients in proportion to their training samples of each class.

    counts: of those, (clients, classes); labels: of the test set, (n,). Test samples of a class
    that was trained on are used once; a client with a small share of every class may get none.
    """
    trained = np.flatnonzero(counts.sum(axis=0))
    groups = [rng.permutation(np.flatnonzero(labels == c)) for c in trained]
    ends = counts[:, trained].cumsum(axis=0) * [len(group) for group in groups]
    shares = np.diff(ends // counts[:, trained].sum(axis=0), axis=0, prepend=0)
    return [np.sort(part) for part in deal(groups, shares)]

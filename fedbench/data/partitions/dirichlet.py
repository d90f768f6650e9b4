"""Partitions whose class shares are drawn from Dirichlet distributions: DL, DP, DR and DY."""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from fedbench.base.checks import Count
from fedbench.base.errors import FedbenchError
from fedbench.data.partition import ByLabels, Indices, by_class, deal

# Beyond these limits a draw in floating point is a single class, or the uniform distribution.
Concentration = Annotated[float, Ge(1e-6), Le(1e6)]
_PATIENCE = 5000  # draws
# At α = 0.1 and four equal classes about one draw of DL in 4,000 gives each of ten clients enough,
# so that one is found in half a second; this many draws take ten seconds.
_DL_ATTEMPTS = 100_000


@dataclass(frozen=True)
class DL(ByLabels):
    """Divide classes by Dirichlet proportions within groups, then even out the clients' sizes.

    The shuffled samples are divided equally over groups of `group` clients. Within a group each
    class is divided by Dir(α·1_group), where clients that hold the group's average get no more; the
    group is drawn again until its smallest client has half the average. Then all samples are put in
    one row, client after client and class after class, and client i takes the i-th ⌊n/K⌋ of it: a
    client's surplus goes to its neighbours, and at most K−1 samples are not used. This is the
    public code of FedDF (Lin et al., NeurIPS 2020), on which FedGKD builds. Few classes
    at a small α have hardly any such draw: two at 0.1 are refused at once. A smaller `group`, DP
    and DR divide them.
    """

    alpha: Concentration = 0.5  # the smaller, the more skewed
    group: Count = 10  # clients; the last group may be smaller

    def split(self, labels: NDArray[Any], clients: int, rng: np.random.Generator) -> list[Indices]:
        """Put the samples in a row and cut it into equal slices."""
        row = np.concatenate(self.uncut(labels, clients, rng))
        size = len(labels) // clients
        return list(row[: size * clients].reshape(clients, size))

    def uncut(self, labels: NDArray[Any], clients: int, rng: np.random.Generator) -> list[Indices]:
        """Each client's samples before sizes are evened out: all samples are used."""
        firsts = np.arange(self.group, clients, self.group)
        shuffled = rng.permutation(len(labels))
        # Deviation: FedDF's code rounds every group's share down and gives the rest to the last,
        # a sample or two; it also wants ten clients or more.
        shares = np.split(shuffled, firsts * len(labels) // clients)
        sizes = np.diff(firsts, prepend=0, append=clients)
        parts = []
        for share, size in zip(shares, sizes.tolist(), strict=True):
            groups, counted = by_class(labels[share], rng)
            draw = partial(_capped, self.alpha, counted, size, rng)
            least = len(share) // (2 * size)
            counts = _redraw(draw, least, "a smaller `group`", _DL_ATTEMPTS)
            parts += [share[part] for part in deal(groups, counts)]
        return parts


@dataclass(frozen=True)
class DP(ByLabels):
    """Give each client ⌊n/K⌋ samples whose classes it draws from its prior Dir(δ·1_C).

    At each step a random client that is not full draws a class of which samples are left, without
    replacement (FedDyn, Acar et al., ICLR 2021). The clients that fill last deviate from their
    priors, because classes have run out. At most K−1 samples are not used.
    """

    delta: Concentration = 0.3  # the smaller, the more skewed

    def split(self, labels: NDArray[Any], clients: int, rng: np.random.Generator) -> list[Indices]:
        """Draw how many samples of each class a client gets, then deal them."""
        groups, sizes = by_class(labels, rng)
        priors = rng.dirichlet(np.full(len(groups), self.delta), size=clients)
        turns = _turns(clients, len(labels) // clients, rng)
        counts = _fill(priors, turns, sizes.tolist(), rng)
        return deal(groups, counts)


def _turns(clients: int, quota: int, rng: np.random.Generator) -> list[int]:
    """Draw the order in which clients receive samples: client numbers, each `quota` times."""
    # a random client that is not full at each step, as of Poisson clocks that stop at the quota
    times = rng.standard_exponential((clients, quota)).cumsum(axis=1)
    turns: list[int] = (times.argsort(axis=None) // quota).tolist()
    return turns


def _fill(
    priors: NDArray[np.float64], turns: list[int], left: list[int], rng: np.random.Generator
) -> Indices:
    """Draw a class at each turn, from those of which samples are left; returns (K, C) counts."""
    counts = [[0] * len(left) for _ in priors]
    tables = _cumulate(priors, left)
    for k, u in zip(turns, rng.random(len(turns)).tolist(), strict=True):
        table = tables[k]
        c = bisect_right(table, u * table[-1])
        counts[k][c] += 1
        left[c] -= 1
        if left[c] == 0:
            tables = _cumulate(priors, left)
    return np.array(counts)


def _cumulate(priors: NDArray[np.float64], left: list[int]) -> list[list[float]]:
    """Cumulative sums of each client's prior over the classes of which samples are left."""
    remaining = (np.array(left) > 0).astype(np.float64)
    masked = priors * remaining
    # Deviation: FedDyn's code loops forever once a client's prior gives 0 to all classes that are
    # left; here such a client draws from them with equal probability.
    masked[masked.sum(axis=1) < np.finfo(np.float64).tiny] = remaining
    tables: list[list[float]] = masked.cumsum(axis=1).tolist()
    return tables


@dataclass(frozen=True)
class DR(ByLabels):
    """Give client i round(scale·ratio_ic) samples of class c, with ratio_i ~ Dir(α·1_C).

    scale = min_c n_c / Σ_i ratio_ic is the largest at which no class runs out. Clients have equal
    sizes up to rounding, and samples of classes that are asked for less are not used: with 100
    clients 87, 75 and 68 % of CIFAR-10 are used for α = 1, 0.1 and 0.01 (RMFL's code). So a change
    of α changes both skew and amount of data; the partition `DP` uses all data.
    """

    alpha: Concentration = 0.1  # the smaller, the more skewed

    def split(self, labels: NDArray[Any], clients: int, rng: np.random.Generator) -> list[Indices]:
        """Draw how many samples of each class a client gets, then deal them."""
        groups, sizes = by_class(labels, rng)

        def draw() -> Indices:
            ratios = rng.dirichlet(np.full(len(sizes), self.alpha), size=clients)
            with np.errstate(divide="ignore"):  # a class that no client asks for sets no limit
                scale = (sizes / ratios.sum(axis=0)).min()
            return _round(scale * ratios, sizes)

        return deal(groups, _redraw(draw, 1, ""))


def _round(wanted: NDArray[np.float64], sizes: Indices) -> Indices:
    """Round to whole samples; where that exceeds a class, undo the largest roundings up."""
    counts = np.rint(wanted).astype(np.int64)
    over = counts.sum(axis=0) - sizes
    for c in np.flatnonzero(over > 0):
        counts[np.argsort(wanted[:, c] - counts[:, c], kind="stable")[: over[c]], c] -= 1
    return counts


@dataclass(frozen=True)
class DY(ByLabels):
    """Divide each class over all clients, in one of two flavours that authors' codes have.

    'yurochkin' (Yurochkin et al., ICML 2019): the proportions of each class are Dir(α·1_K), a
    client that holds n/K samples gets no more, and everything is drawn again until the smallest
    client has `least` samples. Clients' sizes differ widely.

    'fedadc' (FedADC's author): the class shares of each client are Dir(α·1_C); each class is
    divided in proportion to them, rounded down, and what is left of all classes goes in equal
    chunks to the smaller half of the clients. Clients' sizes are near n/K; each client has at least
    `least` samples.
    """

    alpha: Concentration = 0.5  # the smaller, the more skewed
    flavour: Literal["yurochkin", "fedadc"] = "yurochkin"
    least: Count | None = None  # samples of the smallest client; null: 10, or 1 for 'fedadc'

    def split(self, labels: NDArray[Any], clients: int, rng: np.random.Generator) -> list[Indices]:
        """Draw how many samples of each class a client gets, then deal them."""
        groups, sizes = by_class(labels, rng)
        usual, draw = (10, _capped) if self.flavour == "yurochkin" else (1, _fedadc)
        least = self.least or usual
        if least * clients > sizes.sum():
            raise FedbenchError(
                f"{clients} clients need {least} samples each, but there are only {sizes.sum()}; "
                f"use at most {sizes.sum() // least} clients or a smaller `least`"
            )
        draws = partial(draw, self.alpha, sizes, clients, rng)
        return deal(groups, _redraw(draws, least, "a smaller `least`"))


def _fedadc(alpha: float, sizes: Indices, clients: int, rng: np.random.Generator) -> Indices:
    p = rng.dirichlet(np.full(len(sizes), alpha), size=clients)
    if (p.sum(axis=0) == 0).any():  # no client asked for a class: it has no proportions
        return np.zeros_like(p, dtype=np.int64)
    counts: Indices = np.floor(p / p.sum(axis=0) * sizes).astype(np.int64)
    rest = sizes - counts.sum(axis=0)
    smaller = np.argsort(counts.sum(axis=1), kind="stable")[: (clients + 1) // 2]
    chunks = np.diff(np.arange(len(smaller) + 1) * rest.sum() // len(smaller))
    for k, size in zip(smaller, chunks, strict=True):
        chunk = rng.multivariate_hypergeometric(rest, size)  # a cut of the shuffled pool
        counts[k] += chunk
        rest -= chunk
    return counts


def _capped(alpha: float, sizes: Indices, clients: int, rng: np.random.Generator) -> Indices:
    """Divide each class by Dir(α·1_K), of which clients with n/K samples get nothing: (K, C)."""
    counts, held = np.zeros((clients, len(sizes)), np.int64), np.zeros(clients, np.int64)
    most, concentrations = sizes.sum() / clients, np.full(clients, alpha)
    for c, n_c in enumerate(sizes):
        p = rng.dirichlet(concentrations)
        p[held >= most] = 0
        if (total := p.sum()) == 0:  # the few clients with a share are full: draw again
            return np.full_like(counts, -1)
        ends = (np.cumsum(p / total) * n_c).astype(np.int64)
        ends[-1] = n_c
        counts[:, c] = ends
        counts[1:, c] -= ends[:-1]
        held += counts[:, c]
    return counts


def _redraw(draw: Callable[[], Indices], least: int, remedy: str, attempts: int = 1000) -> Indices:
    """Draw counts until every client has `least` samples, or it is hopeless."""
    near = 0  # draws that gave all clients but one enough; of 40 such draws one gives it to all
    for attempt in range(1, attempts + 1):
        counts = draw()
        poor = np.count_nonzero(counts.sum(axis=1) < least)
        if not poor:
            return counts
        near += poor == 1
        if near < attempt // _PATIENCE:
            break
    others = f", {remedy} or the partition 'dp' or 'dr'" if remedy else " or the partition 'dp'"
    raise FedbenchError(
        f"none of {attempt:,} draws gave each of {len(counts)} clients {least:,} or more samples; "
        f"use fewer clients, more samples, a larger concentration{others}"
    )

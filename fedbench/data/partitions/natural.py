"""Natural: every user, writer or site of the data is a client."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fedbench.base.checks import Count
from fedbench.base.errors import FedbenchError
from fedbench.data.partition import Indices, Partition


@dataclass(frozen=True)
class Natural(Partition):
    """One client per group of the data, as in LEAF (Caldas et al., 2018).

    Groups with fewer than `least` samples are joined in random order until together they have so
    many, or dropped. Of more groups than clients as many are drawn at random. The samples of all
    others are not used.
    """

    least: Count = 1  # samples of a client
    small: Literal["join", "drop"] = "join"  # what becomes of smaller groups

    def split(
        self, labels: NDArray[Any], clients: int, rng: np.random.Generator, groups: Indices
    ) -> list[Indices]:
        """The samples of each group, in the order of their numbers; joined groups are last."""
        order = np.argsort(groups, kind="stable")
        members = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
        parts = [each for each in members if len(each) >= self.least]
        if self.small == "join":
            small = [each for each in members if len(each) < self.least]
            parts += self._joined([small[k] for k in rng.permutation(len(small))])
        if clients > len(parts):
            raise FedbenchError(
                f"{self}: clients = {clients} is not allowed; of {len(members)} groups "
                f"{len(parts)} clients with at least {self.least} samples can be made"
            )
        chosen = np.sort(rng.choice(len(parts), clients, replace=False))
        return [parts[k] for k in chosen]

    def _joined(self, small: list[Indices]) -> list[Indices]:
        """Groups put together until they are large enough; what is left joins the last of them."""
        joined: list[Indices] = []
        waiting = np.array([], dtype=np.int64)
        for each in small:
            waiting = np.concatenate([waiting, each])
            if len(waiting) >= self.least:
                joined, waiting = [*joined, waiting], waiting[:0]
        if joined and len(waiting):
            joined[-1] = np.concatenate([joined[-1], waiting])
        return joined

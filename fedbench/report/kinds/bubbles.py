"""Which client holds how many samples of which class."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fedbench.base.checked import Natural
from fedbench.report.figures import partitions
from fedbench.report.figures.kind import Kind
from fedbench.report.figures.panel import Panel


@dataclass(frozen=True)
class Bubbles(Kind):
    """One bubble per class and client, one run per panel; only the `first` clients (0: all).

    RMFL paper, Fig. 6, and FedGKD paper, Fig. 3.
    """

    reads: ClassVar[str] = "clients"
    apart: ClassVar[bool] = True

    first: Natural = 30

    def whole(self, panels: Sequence[Panel], title: str) -> Figure | None:
        """The panels side by side, all bubbles at one scale."""
        drawn = [partitions.PartitionCounts(p.title, self._counts(p)) for p in panels]
        return partitions.draw_partitions(drawn, title, self.first or None)

    def _counts(self, panel: Panel) -> NDArray[np.int64]:
        """Samples (clients, classes) of the first run."""
        table = panel.hues[0].first(self.reads)
        counts = np.zeros((table["client"].max() + 1, table["label"].max() + 1), dtype=np.int64)
        counts[table["client"], table["label"]] = table["count"]
        return counts

"""Where a comparison's numbers come from."""

from abc import ABC, abstractmethod

import pandas as pd

from fedbench.paper.places import Level

Coords = dict[str, Level]  # a point of the grid, the metric among its axes
Repeats = dict[str, float]  # a value for each seed, or seed and other axes


class Source(ABC):
    """Numbers at the points of a grid, scores in percent."""

    @abstractmethod
    def values(self, point: Coords) -> Repeats:
        """One value a repeat; none where there is no run."""

    def spread(self, point: Coords) -> float | None:
        """A standard deviation that is known without its values."""
        return None

    def history(self, point: Coords) -> dict[str, pd.Series]:
        """The metric by evaluated round up to the last planned, of each repeat."""
        return {}

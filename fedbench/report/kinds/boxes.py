"""Box plots of a column of a run folder's table."""

from dataclasses import dataclass
from typing import Literal

from fedbench.checked import Checked, Natural


@dataclass(frozen=True)
class Boxes(Checked):
    """The spread of `column` of the table `table` at each value of `by` (RMFL paper, Figs. 4, 5).

    A box holds a value for every client and round, or with `per` 'round' the mean of each round's
    clients. `most` is the largest number of boxes, neighbours sharing one (0: no limit).
    """

    table: str = "steps"
    column: str = "cosine"
    by: str = "step"
    per: Literal["client", "round"] = "client"
    most: Natural = 0

"""Lines over the rounds."""

from dataclasses import dataclass
from typing import Literal

from fedbench.checked import Checked, Count, Natural


@dataclass(frozen=True)
class Curves(Checked):
    """A metric at every evaluated round: mean and spread over the seeds.

    `smooth` averages each value with the `smooth` − 1 evaluations before it. `x` 'units' is
    computation: forward passes over the local data, E a round for FedAvg and E + 1 for ASD (ASD
    paper, Fig. 11). `mark` is a round at which the lead of the best of `ours` over the best other
    is written (FedADC paper, Figs. 3 and 4); 0 marks none.
    """

    smooth: Count = 1
    x: Literal["round", "units"] = "round"
    mark: Natural = 0
    ours: tuple[str, ...] = ()

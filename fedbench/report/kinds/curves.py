"""Lines over the rounds."""

from dataclasses import dataclass

from fedbench.checked import Checked, Count


@dataclass(frozen=True)
class Curves(Checked):
    """A metric at every evaluated round: mean and spread over the seeds.

    `smooth` averages each value with the `smooth` − 1 evaluations before it.
    """

    smooth: Count = 1

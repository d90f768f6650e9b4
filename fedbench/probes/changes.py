"""What one local round does to each class."""

from dataclasses import dataclass

from fedbench.checked import Count
from fedbench.probe import Probe


@dataclass(frozen=True)
class Changes(Probe):
    """Test accuracy of each class before and after one local round."""

    at: Count | None = None  # the round; the last if null
    clients: Count = 2  # of the cohort, in ascending order

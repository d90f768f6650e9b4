"""What models predict over the plane."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

from fedbench.checked import Positive
from fedbench.probe import Probe


@dataclass(frozen=True)
class Regions(Probe):
    """Predictions of the cohort's models and of the global one over a plane, at the last round."""

    grid: Annotated[int, Ge(2)] = 100  # points a side
    reach: Positive = 4.0  # the plane is (−reach, reach)²

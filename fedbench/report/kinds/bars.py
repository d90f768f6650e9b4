"""One bar for each hue."""

from dataclasses import dataclass

from fedbench.checked import Checked


@dataclass(frozen=True)
class Bars(Checked):
    """A metric as bars with the spread over the seeds; `axis` sets groups of bars side by side.

    With `hue: metric` each of several metrics has a bar (FedADC paper, Fig. 7).
    """

    axis: str = ""

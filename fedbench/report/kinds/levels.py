"""A metric against a number that the grid varies."""

from dataclasses import dataclass

from fedbench.checked import Checked


@dataclass(frozen=True)
class Levels(Checked):
    """One line a hue over the levels of `axis`, which must be numbers; `log` spreads small ones."""

    axis: str = "participation"
    log: bool = False

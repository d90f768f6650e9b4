"""A diagram of mean ranks on a page."""

from dataclasses import dataclass, field
from math import comb

from fedbench.paper.items import Table
from fedbench.paper.metrics import Metric
from fedbench.report.tables.ranks import MANY, Ranks
from fedbench.report.words import say


@dataclass(frozen=True)
class RanksOnPage:
    """A diagram of mean ranks, ready to stand in a page.

    `svg` is empty where the critical difference is too large for a diagram to say anything;
    `missing_letters` are boxes in its PNG and PDF.
    """

    key: str
    title: str
    ranks: Ranks
    svg: str = field(repr=False)
    missing_letters: str = ""

    @property
    def crowded(self) -> bool:
        """Whether the diagram shades the methods that are not told apart from the first."""
        return len(self.ranks.mean) > MANY

    @property
    def pairs(self) -> int:
        """How many pairs of methods there are."""
        return comb(len(self.ranks.mean), 2)


def rank_title(table: Table, ranks: Ranks, group: str = "") -> str:
    """'Table I: mean ranks (1 is the best) over 9 settings', with the metric if it has several.

    group: the title of the group of rows whose cells alone are ranked.
    """
    metric = Metric(ranks.metric).label if len(table.metrics) > 1 else ""
    return say("tables.rank_title", table.title, group, metric, ranks)

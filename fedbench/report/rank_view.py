"""What a paper's page shows of the mean ranks in a table."""

from dataclasses import dataclass

from fedbench.paper.items import Table
from fedbench.report.metrics import Metric
from fedbench.report.ranks import Ranks


@dataclass(frozen=True)
class RankView:
    """A critical-difference diagram with what it says, ready to stand in a page."""

    key: str
    title: str
    ranks: Ranks
    svg: str

    @property
    def caption(self) -> str:
        """How many settings, the tests, who is left out, and whose numbers these are."""
        ranks = self.ranks
        said = [
            f"{len(ranks.mean)} methods ranked by their means over the seeds in each of "
            f"{ranks.settings} settings."
        ]
        if ranks.test:
            said.append(
                f"Friedman's test: p = {ranks.test.p:.2g}. A bar joins methods that Nemenyi's test "
                "does not tell apart at 5 %. Settings on one data set are not independent, so that "
                "the tests are too sure."
            )
        else:
            said.append(
                "These are ranks on substitutes, not on the paper's experiments; none is tested."
            )
        if ranks.left_out:
            said.append(f"Not run in every setting and left out: {', '.join(ranks.left_out)}.")
        return " ".join(said)


def rank_title(table: Table, ranks: Ranks) -> str:
    """'Table I: mean ranks over 9 settings (1 is the best)', of which metric if it has several."""
    what = f", {Metric(ranks.metric).label}" if len(table.metrics) > 1 else ""
    return f"{table.title}{what}: mean ranks over {ranks.settings} settings (1 is the best)"

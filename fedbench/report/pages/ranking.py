"""What a page says of mean ranks: what was ranked, what the tests tell, and what is left out."""

from dataclasses import dataclass, field
from math import comb

from fedbench.paper.items import Table
from fedbench.paper.metrics import Metric
from fedbench.report.tables.ranks import MANY, Ranks, Significance


@dataclass(frozen=True)
class RanksOnPage:
    """A diagram of mean ranks and its caption, ready to stand in a page.

    `svg` is empty where the critical difference is too large for a diagram to say anything;
    `missing_letters` are boxes in its PNG and PDF.
    """

    key: str
    title: str
    ranks: Ranks
    svg: str = field(repr=False)
    missing_letters: str = ""

    @property
    def caption(self) -> str:
        """How many settings were ranked, what the tests say, and which methods are left out."""
        ranks = self.ranks
        how = "" if ranks.seeds else "by their means over the seeds "
        how += "that most of them have " * ranks.uneven
        sentences = [f"{len(ranks.mean)} methods ranked {how}in each of {ranks.counted}."]
        if ranks.near_chance:
            sentences.append(
                f"{_more(ranks.near_chance, ranks)} left out, in which every method, or every "
                "trial of a search, is near the accuracy of guessing."
            )
        if ranks.awaited:
            sentences.append(f"{_more(ranks.awaited, ranks)} left out, which most methods lack.")
        sentences += _tested(ranks)
        if ranks.left_out:
            seeds = " with these seeds" * ranks.uneven
            sentences.append(
                f"Left out, as they were not run in every setting{seeds}: "
                f"{', '.join(ranks.left_out)}."
            )
        return " ".join(sentences)


def _more(number: int, ranks: Ranks) -> str:
    """'1 more setting is', '3 more seeds are': what was ranked is counted in seeds or settings."""
    unit = "seed" if ranks.seeds else "setting"
    return f"{number} more {unit} is" if number == 1 else f"{number} more {unit}s are"


def _tested(ranks: Ranks) -> list[str]:
    """What the tests say, and how far they can be trusted."""
    if ranks.test is None:
        return [
            "The runs are substitutes for the paper's experiments, so that no difference between "
            "the ranks is tested."
        ]
    doubt = (
        "All seeds of a method have the same settings; how lucky their choice was the tests do not "
        "know."
        if ranks.seeds
        else "Settings on one data set are not independent of each other, so that the tests find "
        "differences too easily."
    )
    return [
        f"Friedman's test: p = {ranks.test.p:.2g}.",
        *(_told(ranks, ranks.test) if ranks.tells else [_untold(ranks, ranks.test)]),
        doubt,
    ]


def _told(ranks: Ranks, test: Significance) -> list[str]:
    """How the diagram shows methods that are not told apart, and how many are beside the first."""
    apart = f"whose mean ranks are less than {test.distance:.2f} apart: their order says nothing"
    shown = f"A bar joins methods that Nemenyi's test does not tell apart at 5 %, {apart}."
    if len(ranks.mean) > MANY:
        apart += "; shaded from the first on"
        shown = f"Nemenyi's test does not tell methods apart at 5 % {apart}."
    first = f"{ranks.first} of {len(ranks.mean)} methods are not told apart from the first."
    return [shown, first]


def _untold(ranks: Ranks, test: Significance) -> str:
    """Why there is no diagram: hardly any methods are told apart."""
    return (
        f"No diagram: two of {len(ranks.mean)} mean ranks over {ranks.counted} would have to "
        f"differ by {test.distance:.1f} to differ significantly (Nemenyi's test at 5 %); "
        f"{test.apart} of {comb(len(ranks.mean), 2)} pairs do."
    )


def rank_title(table: Table, ranks: Ranks, group: str = "") -> str:
    """'Table I: mean ranks (1 is the best) over 9 settings', with the metric if it has several.

    group: the title of the group of rows whose cells alone are ranked.
    """
    what = f", {Metric(ranks.metric).label}" if len(table.metrics) > 1 else ""
    where = f", {group}" if group else ""
    return f"{table.title}{where}{what}: mean ranks (1 is the best) over {ranks.counted}"

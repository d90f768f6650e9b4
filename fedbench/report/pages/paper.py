"""All that the page of a paper shows, and what the front page says of the paper."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby, islice

from fedbench.base import registry
from fedbench.paper.claims import Claim, Together
from fedbench.paper.items import Facts, Figure, Table
from fedbench.paper.paper import Paper
from fedbench.paper.places import Where, as_tuple, reading
from fedbench.plan.substitutions import Substitutions
from fedbench.report.claims.page import ClaimOnPage
from fedbench.report.pages.items import EmptyOnPage, FactOnPage, FigureOnPage, TableOnPage
from fedbench.report.pages.making import Making
from fedbench.report.pages.ranking import RanksOnPage
from fedbench.report.pages.searches import SearchOnPage
from fedbench.report.values.numbers import UNTESTED

Shown = TableOnPage | FigureOnPage
_LINKS = 3  # tables and figures that a claim leads to
_SKEWS = {"alpha": "α", "delta": "δ", "split": "δ", "s": "s"}  # axes of how alike clients' data are


@dataclass(frozen=True)
class RunCount:
    """How many runs a paper has, and which of them are missing or diverged.

    `missing` says by id why, where the run failed; `diverged` says by id at which round;
    `substitutes` is what the runs themselves say was used in place of a part of their data.
    """

    planned: int
    missing: dict[str, str]
    diverged: dict[str, int]
    substitutes: tuple[str, ...]

    @property
    def finished(self) -> int:
        """How many runs are there."""
        return self.planned - len(self.missing)


@dataclass(frozen=True)
class Hours:
    """Hours of one core or GPU: that finished runs took, and that the others are expected to take.

    The trials of searches are among them.
    """

    spent: float
    left: float


@dataclass(frozen=True)
class PaperPage:
    """All that a paper's page shows.

    `failed` says why a table or figure could not be made; `unprinted` is a sentence where the
    paper's printed numbers are missing.
    """

    key: str
    paper: Paper = field(repr=False)
    tables: tuple[TableOnPage, ...] = field(repr=False)
    facts: tuple[FactOnPage, ...] = field(repr=False)
    figures: tuple[FigureOnPage, ...] = field(repr=False)
    claims: tuple[ClaimOnPage, ...] = field(repr=False)
    count: RunCount = field(repr=False)
    hours: Hours
    making: Making | None
    searches: tuple[SearchOnPage, ...] = field(default=(), repr=False)
    failed: dict[str, str] = field(default_factory=dict)
    unprinted: str = ""

    @property
    def substituted(self) -> bool:
        """Whether any of its tables or figures notes what was used in place of the paper's."""
        return any(item.substituted for item in self.of_runs)

    @property
    def of_runs(self) -> list[TableOnPage | FigureOnPage]:
        """The tables and figures that show runs."""
        return [*self.tables, *self.figures]

    @property
    def badge(self) -> str:
        """What the front page says of the paper's tables and figures together, if anything."""
        if not self.substituted:
            return ""
        all_ = all(
            x.untested if isinstance(x, TableOnPage) else x.substituted for x in self.of_runs
        )
        return UNTESTED if all_ else f"in part {UNTESTED}"

    @property
    def items(self) -> list[TableOnPage | FactOnPage]:
        """Tables in the file's order, each table of facts before the first with a higher number."""
        items: list[TableOnPage | FactOnPage] = list(self.tables)
        for fact in self.facts:
            later = [i for i, x in enumerate(items) if _number(x.table) > _number(fact.table)]
            items.insert(later[0] if later else len(items), fact)
        return items

    @property
    def skews(self) -> str:
        """The symbols by which its grids say how alike the clients' data are: 'α, δ'."""
        axes = [axis for grid in self.paper.grids.values() for axis in grid.axes]
        return ", ".join(dict.fromkeys(_SKEWS[axis] for axis in axes if axis in _SKEWS))

    @property
    def redrawn(self) -> str:
        """What a seed redraws in the runs."""
        given = (self.paper.settings, *(grid.settings for grid in self.paper.grids.values()))
        fixed = any("data_seed" in settings for settings in given)
        partition = "the partition (but where a grid fixes it)" if fixed else "the partition"
        return (
            f"In the runs here a seed redraws {partition}, the initial weights, the cohorts and "
            "the order of samples."
        )

    @property
    def front(self) -> TableOnPage | None:
        """The table of which the front page shows the first rows, if any run of it is finished."""
        named = [x for x in self.tables if x.key == self.paper.front]
        return next((x for x in named if any(cell.measured for cell in x.cells)), None)

    @property
    def blind(self) -> int:
        """How many searches chose among trials that had learned next to nothing."""
        return sum(search.near_chance for search in self.searches)

    @property
    def ranks(self) -> list[RanksOnPage]:
        """Diagrams of mean ranks, of the tables that have enough methods and settings."""
        return [diagram for table in self.tables for diagram in table.ranks]

    @property
    def stated(self) -> tuple[ClaimOnPage, ...]:
        """The claims of the paper; of a study its own."""
        beside = self.paper.prints
        return tuple(x for x in self.claims if not (beside and x.finding.claim.ours))

    @property
    def own(self) -> tuple[ClaimOnPage, ...]:
        """The claims that are ours, beside those of the paper."""
        return tuple(x for x in self.claims if x not in self.stated)

    @property
    def counted(self) -> list[ClaimOnPage]:
        """The claims of the paper, with a sentence that can be read in several ways once."""
        return [claim for claim in self.stated if claim.finding.counts]

    @property
    def tally(self) -> Counter[str]:
        """How many of the counted claims have each tag of `ClaimOnPage.tags`."""
        return Counter(tag for claim in self.counted for tag in claim.tags)

    @property
    def own_tally(self) -> Counter[str]:
        """As `tally`, of the claims that are ours."""
        return Counter(tag for claim in self.own for tag in claim.tags)

    @property
    def signs(self) -> tuple[int, int]:
        """Of the comparisons without a verdict, those with the claimed sign, and their number.

        Left out are claims on readings of ours, and those of which we say that the runs are no
        fair test.
        """
        fair = [x for x in self.counted if not (x.finding.claim.reading or x.finding.claim.wants)]
        open_ = [x.finding.signs for x in fair if x.mark in ("undecided", "not-tested")]
        return sum(like for like, _ in open_), sum(n for _, n in open_)

    @property
    def drawn(self) -> list[FigureOnPage | EmptyOnPage]:
        """The figures in their order; empty ones that follow each other are one line."""
        drawn: list[FigureOnPage | EmptyOnPage] = []
        for lack, group in groupby(self.figures, key=lambda figure: figure.lack):
            figures = tuple(group)
            drawn += [EmptyOnPage(figures)] if lack else figures
        return drawn

    @property
    def swapped(self) -> list[tuple[str, Substitutions]]:
        """What was substituted in figures, each once with the names of its figures."""
        named: dict[Substitutions, list[str]] = {}
        for figure in self.figures:
            if figure.substituted:
                named.setdefault(figure.substituted, []).append(figure.title)
        return [("; ".join(titles), found) for found, titles in named.items()]

    def shown_by(self, claim: ClaimOnPage) -> list[Shown]:
        """Tables and figures that show a claim: those it names, else some of its runs and metrics.

        A figure that it names but that draws something else stands back behind one that does not.
        """
        singles = list(self._singles(claim.finding.claim))
        tables = [x for x in self.tables if x.key in {getattr(c, "table", "") for c in singles}]
        texts = " ".join(c.text for c in singles)
        named = [x for x in self.figures if re.search(rf"{re.escape(x.name)}(?!\w)", texts)]
        drawn = self._drawing(singles)
        both = [x for x in named if x in drawn]
        figures = both or (named if tables or not drawn else drawn)
        shown: list[Shown] = [*tables, *figures]
        return _spread(shown or self._of_same_runs(singles))

    def _drawing(self, claims: list[Claim]) -> list[FigureOnPage]:
        """The figures that draw what one of the claims compares."""
        near = {x.key for claim in claims for x in self._nearest(claim)}
        return [x for x in self.figures if x.key in near]

    def _nearest(self, claim: Claim) -> list[FigureOnPage]:
        """The figures that draw a claim: of several columns of a table those most like its own."""
        column = {x.key: _column(self.paper.figures[x.key]) for x in self.figures}
        drawn = [x for x in self.figures if not x.lack and _draws(self.paper.figures[x.key], claim)]
        longest = max((len(column[x.key]) for x in drawn), default=0)
        return [x for x in drawn if len(column[x.key]) == longest]

    def _of_same_runs(self, claims: list[Claim]) -> list[Shown]:
        """The first table of the claims' grids that has a metric of theirs."""
        listing = (x for x in self.tables if any(_lists(x.table, claim) for claim in claims))
        return [*islice(listing, 1)]

    def _singles(self, claim: Claim) -> Iterator[Claim]:
        yield claim
        if isinstance(claim, Together):
            known = {each.finding.key: each.finding.claim for each in self.claims}
            yield from (known[key] for key in claim.claims)


def _spread(items: list[Shown]) -> list[Shown]:
    """At most so many as a claim leads to, from the first to the last."""
    if len(items) <= _LINKS:
        return items
    return [items[round(i * (len(items) - 1) / (_LINKS - 1))] for i in range(_LINKS)]


def _draws(figure: Figure, claim: Claim) -> bool:
    """Whether a figure shows runs of a claim, and draws what it compares."""
    column, metrics = _column(figure), _metrics(claim)
    table = registry.find("figure", figure.kind.name).constants.get("reads")
    if column:
        shows = any(column in metric for metric in metrics)
    elif table:
        shows = any(metric.startswith(f"{table}/") for metric in metrics)
    else:
        shows = not metrics.isdisjoint(_read(figure.metrics))
    return shows and _meets(figure, claim)


def _lists(table: Table, claim: Claim) -> bool:
    """Whether a table shows runs of a claim and has a metric of it."""
    return _meets(table, claim) and not _metrics(claim).isdisjoint(_read(table.metrics))


def _meets(item: Figure | Table, claim: Claim) -> bool:
    """Whether a figure or table is of the claim's grid, with a level in common on every axis."""
    wanted: Where = getattr(claim, "where", {})
    return item.grid == getattr(claim, "grid", "") and all(
        {*as_tuple(levels)} & {*as_tuple(item.where.get(axis, levels))}
        for axis, levels in wanted.items()
    )


def _column(figure: Figure) -> str:
    """The column of a probe's table that a figure draws, such as cosine; empty if it draws none."""
    return str(figure.kind.params.get("column", ""))


def _metrics(claim: Claim) -> set[str]:
    """The columns of the history, or of a probe's table, that a claim compares."""
    return _read(getattr(claim, "metrics", ()) or ("accuracy",))


def _read(metrics: tuple[str, ...]) -> set[str]:
    """The columns that metrics read, at whatever moment."""
    return {reading(metric).metric for metric in metrics}


def _number(table: Table | Facts) -> int:
    """The number in a title: 5 of 'Table 5'; 0 without one."""
    digits = re.search(r"\d+", table.title)
    return int(digits[0]) if digits else 0

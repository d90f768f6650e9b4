"""All that the page of a paper shows, and what the front page says of the paper."""

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from fedbench.base.grouping import grouped
from fedbench.paper.claims import Together
from fedbench.paper.grid_points import Substitutions
from fedbench.paper.paper import Paper
from fedbench.paper.tables_and_figures import Facts, Table
from fedbench.report.claims.finding import Finding
from fedbench.report.pages.runs import SearchOnPage
from fedbench.report.pages.tables_and_figures import FactOnPage, FigureOnPage, TableOnPage
from fedbench.report.values.numbers import thinned
from fedbench.spec.compositions import compositions

_LINKS = 3  # tables and figures that a claim leads to
_SKEWS = {"alpha": "α", "delta": "δ", "s": "s"}  # axes of how alike clients' data are


@dataclass(frozen=True)
class PaperPage:
    """All that a paper's page shows."""

    key: str
    paper: Paper = field(repr=False)
    tables: tuple[TableOnPage, ...] = field(repr=False)
    facts: tuple[FactOnPage, ...] = field(repr=False)
    figures: tuple[FigureOnPage, ...] = field(repr=False)
    claims: tuple[Finding, ...] = field(repr=False)
    planned: int  # how many runs it has
    missing: dict[str, str] = field(repr=False)  # by run that is not finished why, if it failed
    # by run that did its setting ('FedAvg, δ = 0.1'), its seed, and at which round
    diverged: dict[str, dict[str, Any]] = field(repr=False)
    substitutes: tuple[str, ...]  # what runs say was used in place of a part of their data
    hours: tuple[float, float]  # of finished runs, and expected of the others
    making: dict[str, Any] | None
    searches: tuple[SearchOnPage, ...] = field(default=(), repr=False)
    curves: dict[str, Any] = field(default_factory=dict, repr=False)  # to draw side by side
    failed: dict[str, str] = field(default_factory=dict)  # why a table or figure was not made
    unprinted: str = ""  # a sentence where the paper's printed numbers are missing
    copies: bool = True  # whether figures and tables are also files of their own, beside CSV

    @property
    def of_runs(self) -> list[TableOnPage | FigureOnPage]:
        """The tables and figures that show runs."""
        return [*self.tables, *self.figures]

    @property
    def items(self) -> list[TableOnPage | FactOnPage]:
        """Tables in the file's order, each table of facts before the first with a higher number."""
        found: list[TableOnPage | FactOnPage] = list(self.tables)
        for fact in self.facts:
            later = [i for i, x in enumerate(found) if _number(x.table) > _number(fact.table)]
            found.insert(later[0] if later else len(found), fact)
        return found

    @property
    def skews(self) -> str:
        """The symbols by which its grids say how alike the clients' data are: 'α, δ'."""
        axes = [axis for grid in self.paper.grids.values() for axis in grid.axes]
        named = [symbol for table in self.tables for symbol in table.skews]
        return ", ".join(dict.fromkeys(named + [_SKEWS[axis] for axis in axes if axis in _SKEWS]))

    @property
    def front(self) -> TableOnPage | None:
        """The table of which the front page shows the first rows, if any run of it is finished."""
        named = [x for x in self.tables if x.key == self.paper.front]
        return next((x for x in named if any(cell.measured for cell in x.cells)), None)

    @property
    def name(self) -> str:
        """Its method as it is written, 'FedADC', or else the key."""
        written = re.findall(r"\w+", " ".join(compositions()))
        return next((word for word in written if word.lower() == self.key), self.key)

    @property
    def stated(self) -> tuple[Finding, ...]:
        """The claims of the paper; of a study its own."""
        beside = self.paper.prints
        return tuple(x for x in self.claims if not (beside and x.claim.ours))

    @property
    def own(self) -> tuple[Finding, ...]:
        """The claims that are ours, beside those of the paper."""
        return tuple(x for x in self.claims if x not in self.stated)

    @property
    def headline(self) -> Finding | None:
        """The claim with which the page opens."""
        named = [x for x in self.claims if x.key == self.paper.headline]
        return next(iter(named or self.stated), None)

    @property
    def lead(self) -> TableOnPage | FigureOnPage | None:
        """What stands first: the table that shows it, or the figure that is the headline."""
        drawn = [x for x in self.figures if x.key == self.paper.headline and not x.lack]
        if drawn:
            return drawn[0]
        shown = self.shown_by(self.headline) if self.headline else []
        return next((x for x in shown if isinstance(x, TableOnPage)), None)

    @property
    def counted(self) -> list[Finding]:
        """The claims of the paper, with a sentence that can be read in several ways once."""
        return [claim for claim in self.stated if claim.counts]

    @property
    def tally(self) -> Counter[str]:
        """How many of the counted claims have each tag of `Finding.tags`."""
        return Counter(tag for claim in self.counted for tag in claim.tags)

    @property
    def signs(self) -> tuple[int, int]:
        """Of comparisons of fair tests without a verdict, those with the claimed sign, and all."""
        fair = [x for x in self.counted if not (x.claim.reading or x.claim.wants)]
        open_ = [x.signs for x in fair if not x.decided]
        return sum(like for like, _ in open_), sum(n for _, n in open_)

    @property
    def drawn(self) -> list[tuple[str, list[FigureOnPage]]]:
        """The figures in their order, neighbours together that lack the same, or nothing."""
        others = [figure for figure in self.figures if figure is not self.lead]
        return [(lack, list(x)) for lack, x in groupby(others, key=lambda figure: figure.lack)]

    @property
    def swapped(self) -> list[tuple[str, Substitutions]]:
        """What was substituted in figures, each once with the names of its figures."""
        swapped = [figure for figure in self.figures if figure.substituted]
        alike = grouped(swapped, lambda figure: figure.substituted)
        return [("; ".join(x.title for x in figures), found) for found, figures in alike.items()]

    def shown_by(self, finding: Finding) -> list[TableOnPage | FigureOnPage]:
        """The tables and figures that show what is claimed, the first and the last among them."""
        named = [finding] if finding.claim.shown_in else [finding, *finding.members]
        claims = [one.claim for one in named]
        keys = {key for claim in claims for key in claim.shown_in}
        keys |= {claim.table for claim in claims if not isinstance(claim, Together)}
        items = [item for item in self.of_runs if item.key in keys]
        return [items[place] for place in thinned(len(items), _LINKS)]


def _number(table: Table | Facts) -> int:
    digits = re.search(r"\d+", table.title)
    return int(digits[0]) if digits else 0

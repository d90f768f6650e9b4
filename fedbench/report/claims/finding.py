"""The result of judging a claim: its label, its verdicts, and the comparisons behind them."""

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from fedbench.paper.claims import Claim
from fedbench.paper.grid_points import Substitutions, merged
from fedbench.report.claims.tests import FEWEST, ErrorRates, Interval, Verdict


class Label(StrEnum):
    """What the runs say of a claim, in the words of its label."""

    SUPPORTED = "supported"
    NOT_SUPPORTED = "not supported"
    UNDECIDED = "undecided"
    NOT_TESTED = "not tested"

    @property
    def mark(self) -> str:
        """The label as one word: 'not-supported'."""
        return self.value.replace(" ", "-")


LABELS = {
    Verdict.HOLDS: Label.SUPPORTED,
    Verdict.FAILS: Label.NOT_SUPPORTED,
    Verdict.UNDECIDED: Label.UNDECIDED,
}


class Void(StrEnum):
    """Why a comparison that was run says nothing about methods."""

    SAME_RUNS = "same runs"  # the runs are compared with themselves
    CHOSEN_NEAR_CHANCE = "chosen near chance"  # trials that learned nothing chose a run's settings
    NEAR_CHANCE = "near chance"  # all accuracies are near that of guessing


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One comparison of a `metric`, carried out on printed and on measured numbers, in `unit`."""

    cell: str
    label: str
    metric: str
    unit: str
    printed: float | None  # the effect on printed numbers, None if one of them is not printed
    printed_verdict: Verdict | None
    test: str
    error_rates: ErrorRates  # how likely, at most, each bound leads to a wrong verdict
    interval: Interval  # the measured effect between the bounds that decide
    plain: Interval  # its two-sided 95 % confidence interval
    p: float  # two-sided, against the limit; not a number where values are said to be equal
    detectable: float  # the smallest true effect shown with a power of 80 %, NaN without spread
    detects_margins: bool  # whether that is a margin, as values are said to be equal
    marks: tuple[float, ...]  # the effects at which the claimed region ends
    verdict: Verdict
    as_claimed: bool | None  # whether its sign is; None of ties, sizes, equalities, the void
    planned: int  # how many pairs of runs the plan has
    substituted: Substitutions  # how the runs differ from the paper's
    void: Void | None  # why it says nothing about methods, if so
    too_late: bool  # whether it asks for rounds that this scale's runs do not have
    kept: bool  # whether the scale has the table
    diverged: int  # how many runs behind it diverged
    at_chance: int  # how many of them end near chance
    runs: tuple[str, ...] = field(repr=False)  # their ids
    missing: tuple[str, ...] = field(repr=False)  # ids of those that are not finished

    @property
    def of_paper(self) -> bool:
        """Whether the runs are the paper's experiment, and say something about its methods."""
        return not (self.substituted or self.void)

    @property
    def possible(self) -> bool:
        """Whether this scale plans the runs that it needs."""
        return self.planned > 0 and not self.too_late

    @property
    def effect(self) -> float | None:
        """The measured effect; None where nothing was compared, or a value is not a number."""
        return None if math.isnan(self.interval.effect) else self.interval.effect


class Judgement(NamedTuple):
    """A verdict, and the verdicts that it follows from, each with the name of its cell or claim."""

    verdict: Verdict
    parts: tuple[tuple[str, Verdict], ...]

    def having(self, verdict: Verdict) -> list[str]:
        """The names of the parts that have this verdict."""
        return [name for name, of_part in self.parts if of_part == verdict]


@dataclass(frozen=True)
class Finding:
    """A claim's verdicts."""

    key: str
    claim: Claim = field(repr=False)
    printed: Judgement | None  # on the paper's printed numbers, None where it prints none
    measured: Judgement  # on the runs that are the paper's experiment
    rows: tuple[Evidence, ...] = field(repr=False)
    could: frozenset[Verdict]  # what the runs of this scale may lead to, whatever they give
    counts: bool = True  # not: one of several readings of a sentence
    members: tuple["Finding", ...] = ()  # the claims that it joins

    @property
    def substituted(self) -> Substitutions:
        """How the runs behind the claim differ from the paper's."""
        return merged(row.substituted for row in self.rows)

    @property
    def missing(self) -> tuple[int, int]:
        """How many of its runs are not finished, and how many there are."""
        runs = {run for row in self.rows for run in row.runs}
        return len({run for row in self.rows for run in row.missing}), len(runs)

    @property
    def unrun(self) -> bool:
        """Whether nothing can be tested yet, because runs that this scale plans are missing."""
        compared = any(row.interval.pairs >= FEWEST for row in self.rows)
        return not compared and any(row.missing and row.possible for row in self.rows)

    @property
    def label(self) -> Label:
        """What the runs say; not tested: none could show that it holds, nor did that it fails."""
        if self.unrun:
            return Label.NOT_TESTED
        open_ = self.measured.verdict == Verdict.UNDECIDED and Verdict.HOLDS not in self.could
        return Label.NOT_TESTED if open_ else LABELS[self.measured.verdict]

    @property
    def tested(self) -> bool:
        """Whether it was tested."""
        return self.label is not Label.NOT_TESTED

    @property
    def decided(self) -> bool:
        """Whether it was found to hold, or to fail."""
        return self.label in (Label.SUPPORTED, Label.NOT_SUPPORTED)

    @property
    def on_reading(self) -> bool:
        """Whether it was tested on what we guess that the paper means."""
        return self.tested and bool(self.claim.reading)

    @property
    def printed_mark(self) -> str:
        """The verdict on the printed numbers in one word; 'none' where nothing is printed."""
        return self.printed.verdict.value if self.printed else "none"

    @property
    def tags(self) -> tuple[str, str]:
        """'printed-holds', 'here-undecided'; a reading of ours has none on printed numbers."""
        printed = "none" if self.claim.reading else self.printed_mark
        return f"printed-{printed}", f"{'reading' if self.on_reading else 'here'}-{self.label.mark}"

    @property
    def signs(self) -> tuple[int, int]:
        """In how many comparisons the effect has the claimed sign, of those that have one."""
        told = [row.as_claimed for row in self.rows if row.as_claimed is not None]
        return sum(told), len(told)

    @property
    def exceptions(self) -> list[Evidence]:
        """The comparisons that fail on printed numbers in failing cells, unless one is enough."""
        if self.printed is None or getattr(self.claim, "cells", 1) == 1:
            return []
        failing = self.printed.having(Verdict.FAILS)
        of_cells = (row for row in self.rows if row.cell in failing)
        return [row for row in of_cells if row.printed_verdict == Verdict.FAILS]

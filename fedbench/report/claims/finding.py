"""The result of judging a claim: its verdicts, the comparisons behind them, and both as a frame."""

import math
from dataclasses import dataclass, field

import pandas as pd

from fedbench.paper.claims import Claim
from fedbench.report.claims.interval import FEWEST, Interval
from fedbench.report.claims.limits import Risks, Verdict
from fedbench.report.values.numbers import UNTESTED

# Where the means point that test nothing, such as those of substitutes, beside what is claimed
SHOWS = {
    Verdict.HOLDS: "same direction", Verdict.FAILS: "other direction", Verdict.UNDECIDED: ""
}  # fmt: skip

AWAITED = "not run yet"  # is said of a claim for which no pair of runs is finished
# What is said of an undecided claim that the runs of this scale cannot show to hold
_NEVER = {True: "cannot be confirmed at this scale", False: "cannot be decided at this scale"}


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One comparison of a `metric`, carried out on printed and on measured numbers, in `unit`.

    `printed`: the effect on printed numbers, None if one of them is not printed. `interval`: the
    measured effect between its bounds, None if this scale plans no such runs. `risks`: with what
    probability, at most, each bound may lead to a wrong verdict. `detectable`: the smallest true
    effect that these pairs would have shown with a probability of 80 %, or the smallest margin
    where values are said to be equal (`detects_margins`); not a number where they have no spread.
    `marks`: the effects at which the claimed region ends. `shows`: the verdict if
    the measured means were exact. `planned`: how many pairs of runs the plan has. `substituted`:
    how the runs differ from the paper's. `near_chance`: why chance alone is compared, if it
    is: settings of a run were chosen by trials that learned next to nothing, or all accuracies are
    near that of guessing. `possible`: whether this scale plans the runs that it
    needs. `runs`: the ids of the runs behind it, `missing` those of them that are not finished.
    """

    cell: str
    label: str
    metric: str
    unit: str
    printed: float | None
    printed_verdict: Verdict | None
    test: str
    risks: Risks
    interval: Interval | None
    detectable: float
    detects_margins: bool
    marks: tuple[float, ...]
    verdict: Verdict
    shows: Verdict
    planned: int
    substituted: str
    near_chance: str = ""
    possible: bool = True
    note: str
    runs: tuple[str, ...] = field(repr=False)
    missing: tuple[str, ...] = field(repr=False)

    @property
    def of_paper(self) -> bool:
        """Whether the runs are the paper's experiment: no substitutes, settings that were chosen.

        Settings that only chance chose say nothing about a method that is tuned, and accuracies
        near that of guessing nothing about any method.
        """
        return not (self.substituted or self.near_chance)

    @property
    def testable(self) -> bool:
        """Whether this scale plans enough runs of the paper's experiment for a test."""
        planned = self.interval is not None and self.planned >= FEWEST
        return planned and self.possible and self.of_paper

    @property
    def words(self) -> str:
        """The verdict; where the runs are not the paper's experiment where their means point.

        Empty where there are no runs to compare, which is no verdict.
        """
        if self.interval is None:
            return ""
        shows = f"{SHOWS[self.shows]} (not tested)" if SHOWS[self.shows] else ""
        return self.verdict.value if self.of_paper else shows

    @property
    def tested_verdict(self) -> Verdict:
        """The verdict where the runs are the paper's experiment; undecided where they are not."""
        return self.verdict if self.of_paper else Verdict.UNDECIDED


@dataclass(frozen=True)
class Judgement:
    """A verdict, and the verdicts that it follows from, each with the name of its cell or claim."""

    verdict: Verdict
    parts: tuple[tuple[str, Verdict], ...]

    def having(self, verdict: Verdict) -> list[str]:
        """The names of the parts that have this verdict."""
        return [name for name, of_part in self.parts if of_part == verdict]


@dataclass(frozen=True)
class Finding:
    """A claim's verdicts.

    `printed`: on the paper's printed numbers, None where it prints none; `measured`: on the runs
    that are the paper's experiment; `shows`: on the means of all runs, those of substitutes
    included, as if they were exact; `could`: the verdicts that the runs of this scale may lead to,
    whatever they give.
    """

    key: str
    claim: Claim = field(repr=False)
    printed: Judgement | None
    measured: Judgement
    shows: Judgement
    rows: tuple[Evidence, ...] = field(repr=False)
    could: frozenset[Verdict]

    @property
    def substituted(self) -> str:
        """How the runs behind the claim differ from the paper's; empty if none does."""
        differences = (row.substituted for row in self.rows if row.substituted)
        return " / ".join(dict.fromkeys(differences))

    @property
    def unrun(self) -> bool:
        """Whether nothing can be compared yet, because runs that this scale plans are missing."""
        compared = any(row.interval and row.interval.pairs for row in self.rows)
        return not compared and any(row.missing and row.possible for row in self.rows)

    @property
    def awaited(self) -> bool:
        """Whether runs that would test it are missing; those of substitutes would not."""
        return self.unrun and not self.substituted

    @property
    def tested(self) -> bool:
        """Whether it was tested: this scale has its runs, and no substitute leaves it open."""
        run = any(row.interval and not row.near_chance for row in self.rows)
        return (run and not self.substituted) or self.measured.verdict != Verdict.UNDECIDED

    @property
    def limited(self) -> bool:
        """Whether it is undecided, and would not hold whatever the runs of this scale give."""
        tested = self.tested and not self.awaited
        undecided = self.measured.verdict == Verdict.UNDECIDED
        return tested and undecided and Verdict.HOLDS not in self.could

    @property
    def words(self) -> str:
        """The measured verdict as pages show it."""
        if self.awaited:
            return AWAITED
        if self.tested:
            never = f"; {_NEVER[Verdict.FAILS in self.could]}" if self.limited else ""
            return f"{self.measured.verdict.value}{never}"
        if self.unrun:
            return f"{UNTESTED}; its substitutes are {AWAITED}"
        shows = SHOWS[self.shows.verdict]
        return f"{shows} ({UNTESTED})" if shows else UNTESTED


COLUMNS = (
    "paper", "claim", "kind", "text", "printed", "measured", "cell", "comparison", "unit",
    "printed_effect", "printed_verdict", "effect", "low", "high", "low_level", "high_level",
    "hold_level", "fail_level", "smallest_detectable", "pairs", "planned", "verdict",
    "substituted", "note", "run_ids",
)  # fmt: skip


def tidy(paper: str, judged: list[Finding]) -> pd.DataFrame:
    """One row per comparison, with the verdicts of its claim.

    `low_level` and `high_level` are the confidence levels of the two bounds as shown, 0 to 1;
    `hold_level` and `fail_level` are the levels that a bound needs for the comparison to hold and
    to fail, which depend on how many comparisons the claim makes.
    """
    rows = [(*_claim(paper, finding), *_row(row)) for finding in judged for row in finding.rows]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _claim(paper: str, finding: Finding) -> tuple[str, ...]:
    claim = finding.claim
    printed = finding.printed.verdict.value if finding.printed else ""
    return (paper, finding.key, claim.kind, claim.text, printed, finding.words)


def _row(row: Evidence) -> tuple[object, ...]:
    shown = row.interval or Interval(math.nan, math.nan, math.nan, 0)
    bounds = (shown.effect, shown.low, shown.high, shown.low_level, shown.high_level)
    levels = (1 - row.risks.hold, 1 - row.risks.fail, row.detectable)
    printed = (row.printed, row.printed_verdict.value if row.printed_verdict else None)
    return (
        *(row.cell, row.label, row.unit, *printed, *bounds, *levels, shown.pairs, row.planned),
        *(row.words, row.substituted, row.note, ";".join(row.runs)),
    )

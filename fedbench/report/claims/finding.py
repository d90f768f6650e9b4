"""The result of judging a claim: its label, its verdicts, and the comparisons behind them."""

from dataclasses import dataclass, field
from enum import StrEnum

from fedbench.paper.claims import Claim
from fedbench.report.claims.interval import FEWEST, Interval
from fedbench.report.claims.limits import Risks, Verdict


class Label(StrEnum):
    """What the runs say of a claim, in the words of its label."""

    SUPPORTED = "supported"
    NOT_SUPPORTED = "not supported"
    UNDECIDED = "undecided"
    NOT_TESTED = "not tested"


_LABELS = {Verdict.HOLDS: Label.SUPPORTED, Verdict.FAILS: Label.NOT_SUPPORTED}


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One comparison of a `metric`, carried out on printed and on measured numbers, in `unit`.

    `printed`: the effect on printed numbers, None if one of them is not printed. `interval`: the
    measured effect between the bounds that decide, None if this scale plans no such runs; `plain`:
    its two-sided 95 % confidence interval; `p`: its two-sided p-value against the limit. `risks`:
    with what probability, at most, each bound may lead to a wrong verdict. `detectable`: the
    smallest true effect that these pairs would have shown with a probability of 80 %, or the
    smallest margin where values are said to be equal (`detects_margins`); not a number where they
    have no spread. `marks`: the effects at which the claimed region ends. `as_claimed`: whether the
    measured effect has the sign that is claimed; None where the claim is about a size, a threshold
    or an equality, and where nothing was compared but chance or runs with themselves. `planned`:
    how many pairs of runs the plan has. `substituted`: how the runs differ from the paper's.
    `near_chance`: why chance alone is compared, if it is: settings of a run were chosen by trials
    that learned next to nothing, or all accuracies are near that of guessing; or that runs are
    compared with themselves. `possible`: whether this scale plans the runs that it needs. `runs`:
    the ids of the runs behind it, `missing` those of them that are not finished.
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
    plain: Interval | None
    p: float
    detectable: float
    detects_margins: bool
    marks: tuple[float, ...]
    verdict: Verdict
    as_claimed: bool | None
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
        """Its label; where the runs are not the paper's experiment, whether the sign is as claimed.

        Empty where there are no runs to compare, which is no verdict.
        """
        if self.interval is None:
            return ""
        if self.of_paper:
            return _LABELS.get(self.verdict, Label.UNDECIDED).value
        signs = {True: ", sign as claimed", False: ", opposite sign", None: ""}
        return f"{Label.NOT_TESTED.value}{signs[self.as_claimed]}"

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
    that are the paper's experiment; `could`: the verdicts that the runs of this scale may lead to,
    whatever they give; `counts`: whether it is counted, which one of several readings of a sentence
    is not.
    """

    key: str
    claim: Claim = field(repr=False)
    printed: Judgement | None
    measured: Judgement
    rows: tuple[Evidence, ...] = field(repr=False)
    could: frozenset[Verdict]
    counts: bool = True

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
    def label(self) -> Label:
        """What the runs say.

        Not tested: no outcome of this scale's runs could show that it holds, and none showed that
        it fails.
        """
        if self.unrun:
            return Label.NOT_TESTED
        undecided = Label.UNDECIDED if Verdict.HOLDS in self.could else Label.NOT_TESTED
        return _LABELS.get(self.measured.verdict, undecided)

    @property
    def tested(self) -> bool:
        """Whether it was tested."""
        return self.label is not Label.NOT_TESTED

    @property
    def on_reading(self) -> bool:
        """Whether it was tested on what we guess that the paper means."""
        return self.tested and bool(self.claim.reading)

    @property
    def words(self) -> str:
        """The label as pages show it: 'supported under our reading of equation 3'."""
        of = f" under our reading of {self.claim.reading}" if self.on_reading else ""
        return f"{self.label.value}{of}"

    @property
    def signs(self) -> tuple[int, int]:
        """In how many comparisons that were run the effect has the claimed sign, and of how many.

        Those of sizes, thresholds and equalities have none.
        """
        told = [row.as_claimed for row in self.rows if row.as_claimed is not None]
        return sum(told), len(told)

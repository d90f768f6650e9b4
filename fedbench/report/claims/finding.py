"""A claim with its verdicts and the evidence for them."""

from dataclasses import dataclass

from fedbench.paper.claims import Claim
from fedbench.report.claims.evidence import Evidence
from fedbench.report.claims.verdict import Verdict
from fedbench.report.numbers import UNTESTED


@dataclass(frozen=True)
class Judgement:
    """A verdict, and those that it follows from by what each is called: cells, or claims."""

    verdict: Verdict
    parts: tuple[tuple[str, Verdict], ...]

    def having(self, verdict: Verdict) -> list[str]:
        """Which of the parts came to that."""
        return [name for name, found in self.parts if found == verdict]


@dataclass(frozen=True)
class Finding:
    """A claim's verdicts.

    `printed`: on the paper's own numbers, None where it prints none; `measured`: on runs that are
    the paper's experiment; `trend`: on all runs, substitutes too.
    """

    key: str
    claim: Claim
    printed: Judgement | None
    measured: Judgement
    trend: Judgement
    rows: tuple[Evidence, ...]

    @property
    def substituted(self) -> str:
        """How runs behind it differ from the paper's; empty if none does."""
        found = (row.substituted for row in self.rows if row.substituted)
        return " / ".join(dict.fromkeys(found))

    @property
    def tested(self) -> bool:
        """Whether the paper's own experiment decides it, or was all there is to it."""
        return not self.substituted or self.measured.verdict != Verdict.UNDECIDED

    @property
    def words(self) -> str:
        """The verdict as it is shown."""
        if self.tested:
            return self.measured.verdict.value
        return f"{UNTESTED} (substitute trend: {self.trend.verdict.value})"

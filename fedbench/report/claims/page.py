"""The claims as the paper's page and the command `fedbench claims` show them."""

from collections import Counter
from dataclasses import dataclass
from math import isnan
from pathlib import Path

from fedbench import store
from fedbench.plan.plan import Plan
from fedbench.plan.printed import printed_file, read_printed
from fedbench.report.claims import wording
from fedbench.report.claims.finding import Evidence, Finding
from fedbench.report.claims.judge import findings
from fedbench.report.values import frames
from fedbench.report.values.frames import Collected
from fedbench.report.values.numbers import UNTESTED


@dataclass(frozen=True)
class ClaimOnPage:
    """A row of the page's table of claims: the claim, its verdicts and the evidence for them."""

    finding: Finding

    @property
    def printed(self) -> str:
        """The verdict on the printed numbers, in words."""
        return wording.printed_words(self.finding)

    @property
    def printed_mark(self) -> str:
        """The verdict on the printed numbers in one word; empty where nothing is printed."""
        return self.finding.printed.verdict.value if self.finding.printed else ""

    @property
    def mark(self) -> str:
        """The measured verdict in one word; 'untested' where only substitutes were run."""
        return self.finding.measured.verdict.value if self.finding.tested else "untested"

    @property
    def evidence(self) -> str:
        """What the measured verdict rests on."""
        return wording.evidence_words(self.finding)

    @property
    def basis(self) -> str:
        """How the measured verdict was reached; empty where nothing was tested."""
        return wording.basis(self.finding)

    @property
    def rows(self) -> list[tuple[Evidence, str, str, str]]:
        """Each comparison, with three texts.

        The printed effect, the measured effect with its bounds, and the smallest effect that would
        have been shown.
        """
        return [
            (
                row,
                "–" if row.printed is None else wording.amount(row.printed, row.unit),
                wording.interval_words(row),
                "–" if isnan(row.detectable) else wording.amount(row.detectable, row.unit),
            )
            for row in self.finding.rows
        ]


def verdicts(plan: Plan, results: Path, papers: Path) -> list[dict[str, str]]:
    """One row of words per claim of the plan; `papers` is the folder of the printed numbers."""
    return [
        {
            **{"paper": key, "claim": finding.key, "says": finding.claim.text},
            **{"printed": wording.printed_words(finding), "measured": finding.words},
            **{"evidence": wording.evidence_words(finding), "basis": wording.basis(finding)},
        }
        for key in plan.papers
        for finding in _findings(plan, key, results, papers)
    ]


def _findings(plan: Plan, key: str, results: Path, papers: Path) -> list[Finding]:
    paths = store.Results(results)
    frame = frames.read(paths.frame(plan.scale, key))
    printed = read_printed(printed_file(papers, key))
    return findings(plan, key, Collected(frame, paths.runs), printed)


def counts(claims: tuple[ClaimOnPage, ...]) -> dict[str, int]:
    """How many claims have each verdict; those with substitutes alone count as not tested."""
    names = {"holds": 0, "fails": 0, "undecided": 0, UNTESTED: 0}
    marks = Counter(UNTESTED if claim.mark == "untested" else claim.mark for claim in claims)
    return names | marks

"""What the pages show of a paper's claims."""

from collections import Counter
from dataclasses import dataclass
from math import isnan
from pathlib import Path

from fedbench import store
from fedbench.plan.plan import Plan
from fedbench.plan.printed import read_printed
from fedbench.report.claims import Finding, findings, sentence
from fedbench.report.claims.basis import basis
from fedbench.report.claims.finding import Evidence
from fedbench.report.values import frames
from fedbench.report.values.frames import Results
from fedbench.report.values.numbers import UNTESTED


@dataclass(frozen=True)
class ClaimView:
    """A claim's row: the paper's words, the verdicts, what they rest on."""

    finding: Finding

    @property
    def printed(self) -> str:
        """The verdict on the printed numbers, in words."""
        return sentence.printed(self.finding)

    @property
    def printed_mark(self) -> str:
        """The printed verdict alone; empty where nothing is printed."""
        return self.finding.printed.verdict.value if self.finding.printed else ""

    @property
    def mark(self) -> str:
        """The measured verdict alone, 'untested' for a substitute's."""
        return self.finding.measured.verdict.value if self.finding.tested else "untested"

    @property
    def evidence(self) -> str:
        """What the measured verdict rests on."""
        return sentence.evidence(self.finding)

    @property
    def basis(self) -> str:
        """How the measured verdict was reached; empty where nothing was tested."""
        return basis(self.finding)

    @property
    def rows(self) -> list[tuple[Evidence, str, str, str]]:
        """Each comparison with its printed effect, its bounds and what it could show, in words."""
        return [
            (
                row,
                "–" if row.printed is None else sentence.amount(row.printed, row.unit),
                sentence.interval(row),
                "–" if isnan(row.detectable) else sentence.amount(row.detectable, row.unit),
            )
            for row in self.finding.rows
        ]


def verdicts(plan: Plan, results: Path, papers: Path) -> list[dict[str, str]]:
    """Each claim of a plan's papers in a line of words; `papers` holds the printed numbers."""
    return [
        {
            **{"paper": key, "claim": found.key, "says": found.claim.text},
            **{"printed": sentence.printed(found), "measured": found.words},
            **{"evidence": sentence.evidence(found), "basis": basis(found)},
        }
        for key in plan.papers
        for found in _findings(plan, key, results, papers)
    ]


def _findings(plan: Plan, key: str, results: Path, papers: Path) -> list[Finding]:
    paths = store.Results(results)
    frame = frames.read(paths.frame(plan.scale, key))
    printed = read_printed(papers / f"{key}.printed.csv")
    return findings(plan, key, Results(frame, paths.runs), printed)


def counts(found: tuple[ClaimView, ...]) -> dict[str, int]:
    """How many claims came to each verdict; substitutes count as not tested."""
    names = {"holds": 0, "fails": 0, "undecided": 0, UNTESTED: 0}
    return names | Counter(UNTESTED if x.mark == "untested" else x.mark for x in found)

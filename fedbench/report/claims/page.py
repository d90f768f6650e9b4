"""The claims as the paper's page and the command `fedbench claims` show them."""

from dataclasses import dataclass
from math import isnan
from pathlib import Path

from fedbench import store
from fedbench.plan.plan import Plan
from fedbench.plan.printed import printed_file, read_printed
from fedbench.report.claims import wording
from fedbench.report.claims.finding import AWAITED, Evidence, Finding
from fedbench.report.claims.judge import findings
from fedbench.report.claims.limits import Verdict
from fedbench.report.claims.plot import Plot, plots
from fedbench.report.values import frames
from fedbench.report.values.frames import Collected

# What claims on a page can be filtered by → in words, the verdict on printed numbers first
FILTERS = {
    "printed-holds": "hold", "printed-fails": "fail", "printed-undecided": "undecided",
    "printed-none": "none printed", "here-holds": "hold", "here-fails": "fail",
    "here-undecided": "undecided", "here-untested": "not tested", "here-awaited": AWAITED,
    "shows": "show here", "shows-not": "do not show here", "fails": "fail on either",
}  # fmt: skip
_SHOWS = {Verdict.HOLDS: "shows", Verdict.FAILS: "shows-not"}


@dataclass(frozen=True)
class ClaimOnPage:
    """A claim on the page: its words, its verdicts and the evidence for them."""

    finding: Finding

    @property
    def printed(self) -> str:
        """The verdict on the printed numbers, in words."""
        return wording.printed_words(self.finding)

    @property
    def printed_mark(self) -> str:
        """The verdict on the printed numbers in one word; 'none' where nothing is printed."""
        return self.finding.printed.verdict.value if self.finding.printed else "none"

    @property
    def mark(self) -> str:
        """The measured verdict in one word.

        'awaited' where nothing has been run yet, 'untested' where only substitutes were.
        """
        if self.finding.awaited:
            return "awaited"
        return self.finding.measured.verdict.value if self.finding.tested else "untested"

    @property
    def tags(self) -> tuple[str, ...]:
        """The entries of `FILTERS` that it belongs to."""
        said = self.finding.tested or self.finding.awaited
        shows = "" if said else _SHOWS.get(self.finding.shows.verdict, "")
        either = "fails" if Verdict.FAILS.value in (self.printed_mark, self.mark) else ""
        tags = (f"printed-{self.printed_mark}", f"here-{self.mark}", shows, either)
        return tuple(filter(None, tags))

    @property
    def evidence(self) -> str:
        """What the measured verdict rests on."""
        return wording.evidence_words(self.finding)

    @property
    def basis(self) -> str:
        """How the measured verdict was reached; empty where nothing was tested."""
        return wording.basis(self.finding)

    @property
    def plots(self) -> list[Plot]:
        """The effects between their bounds, one picture per unit."""
        return plots(self.finding.rows)

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

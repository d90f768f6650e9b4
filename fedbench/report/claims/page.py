"""The claims as the paper's page and the command `fedbench claims` show them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedbench import store
from fedbench.base.errors import unknown
from fedbench.paper.claims import Together
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
    "here-undecided": "undecided", "here-limited": "cannot be confirmed",
    "here-untested": "not tested", "here-awaited": AWAITED,
    "same-direction": "same direction", "other-direction": "other direction",
    "fails": "fail on either",
}  # fmt: skip
_SHOWS = {Verdict.HOLDS: "same-direction", Verdict.FAILS: "other-direction"}


@dataclass(frozen=True)
class ClaimOnPage:
    """A claim on the page: its words, its verdicts and the evidence for them."""

    finding: Finding

    @property
    def printed(self) -> str:
        """The verdict on the printed numbers, in words."""
        return wording.printed_words(self.finding)

    @property
    def printed_verdict(self) -> str:
        """The verdict on the printed numbers alone: 'fails', 'not printed'."""
        return self.finding.printed.verdict.value if self.finding.printed else self.printed

    @property
    def printed_why(self) -> str:
        """What that verdict rests on: 'holds in 1 of 3 printed cells', '−0.22 points'; or ''."""
        why = self.printed.removeprefix(self.printed_verdict).lstrip(":; ")
        return why[1:-1] if why.startswith("(") and why.endswith(")") else why

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
    def joined(self) -> tuple[str, ...]:
        """The keys of the claims that it joins."""
        claim = self.finding.claim
        return claim.claims if isinstance(claim, Together) else ()

    @property
    def tags(self) -> tuple[str, ...]:
        """The entries of `FILTERS` that it belongs to."""
        said = self.finding.tested or self.finding.awaited
        shows = "" if said else _SHOWS.get(self.finding.shows.verdict, "")
        either = "fails" if Verdict.FAILS.value in (self.printed_mark, self.mark) else ""
        here = "limited" if self.finding.limited else self.mark
        tags = (f"printed-{self.printed_mark}", f"here-{here}", shows, either)
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
                wording.detectable_words(row),
            )
            for row in self.finding.rows
        ]


def verdicts(
    plan: Plan, results: Path, papers: Path, only: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """One row per claim of the plan, in words, with the entries of `FILTERS` that it belongs to.

    papers: the folder of the printed numbers; only: of these entries a claim has one at least, all
    claims if there are none. Raises `FedbenchError` for a word that `FILTERS` does not have.
    """
    for word in only:
        if word not in FILTERS:
            raise unknown("verdict", word, FILTERS)
    found = (
        (key, ClaimOnPage(finding))
        for key in plan.papers
        for finding in _findings(plan, key, results, papers)
    )
    return [_row(key, claim) for key, claim in found if not only or {*only} & {*claim.tags}]


def _row(paper: str, claim: ClaimOnPage) -> dict[str, Any]:
    finding = claim.finding
    return {
        **{"paper": paper, "claim": finding.key, "says": finding.claim.text},
        **{"printed": claim.printed, "measured": finding.words, "evidence": claim.evidence},
        **{"basis": claim.basis, "tags": list(claim.tags)},
    }


def _findings(plan: Plan, key: str, results: Path, papers: Path) -> list[Finding]:
    paths = store.Results(results)
    frame = frames.read(paths.frame(plan.scale, key))
    printed = read_printed(printed_file(papers, key))
    return findings(plan, key, Collected(frame, paths.runs), printed)

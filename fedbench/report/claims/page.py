"""The claims as the paper's page and the command `fedbench claims` show them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedbench import store
from fedbench.base.errors import unknown
from fedbench.paper.claims import Together
from fedbench.plan.plan import Plan
from fedbench.plan.printed import printed_numbers
from fedbench.report.claims import wording
from fedbench.report.claims.finding import Evidence, Finding, Label
from fedbench.report.claims.judge import findings
from fedbench.report.claims.plot import Plot, plots
from fedbench.report.claims.reason import reason_words
from fedbench.report.values import frames
from fedbench.report.values.frames import Collected

# What claims on a page can be filtered by → in words, the verdict on printed numbers first
FILTERS = {
    "printed-holds": "hold", "printed-fails": "fail", "printed-undecided": "undecided",
    "printed-none": "none printed",
    **{f"here-{label.name.lower().replace('_', '-')}": label.value for label in Label},
    "reading-supported": "supported", "reading-not-supported": "not supported",
    "reading-undecided": "undecided",
}  # fmt: skip


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
        """The label as one word: 'not-supported'."""
        return self.finding.label.value.replace(" ", "-")

    @property
    def joined(self) -> tuple[str, ...]:
        """The keys of the claims that it joins."""
        claim = self.finding.claim
        return claim.claims if isinstance(claim, Together) else ()

    @property
    def tags(self) -> tuple[str, ...]:
        """The entries of `FILTERS` that it belongs to.

        Verdicts on a reading of ours stand apart, also on printed numbers, which they cannot
        contradict.
        """
        reading = bool(self.finding.claim.reading)
        printed = "none" if reading else self.printed_mark
        return (
            f"printed-{printed}",
            f"{'reading' if self.finding.on_reading else 'here'}-{self.mark}",
        )

    @property
    def reason(self) -> str:
        """What the label rests on."""
        return reason_words(self.finding)

    @property
    def basis(self) -> str:
        """How the measured verdict was reached; empty where nothing was tested."""
        return wording.basis(self.finding)

    @property
    def plots(self) -> list[Plot]:
        """The effects between their bounds, one picture per unit."""
        return plots(self.finding.rows)

    @property
    def rows(self) -> list[tuple[Evidence, str, str, str, str]]:
        """Each comparison, with four texts.

        The printed effect, the measured effect with its interval, the bounds that decide, and the
        smallest effect that would have been shown.
        """
        return [
            (
                row,
                "–" if row.printed is None else wording.amount(row.printed, row.unit),
                wording.interval_words(row),
                wording.bounds_words(row),
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
        **{"ours": finding.claim.ours, "counts": finding.counts, "printed": claim.printed},
        **{"measured": finding.words, "reason": claim.reason},
        **{"basis": claim.basis, "tags": list(claim.tags)},
    }


def _findings(plan: Plan, key: str, results: Path, papers: Path) -> list[Finding]:
    paths = store.Results(results)
    frame = frames.read(paths.frame(plan.scale, key))
    printed = printed_numbers(papers, key, plan.asked[key])
    return findings(plan, key, Collected(frame, paths.runs), printed)

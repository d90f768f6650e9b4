"""Holds, fails or undecided, and how several verdicts make one."""

from collections.abc import Sequence
from enum import StrEnum


class Verdict(StrEnum):
    """What is known of a statement."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"

    @property
    def opposite(self) -> "Verdict":
        """Of the statement that denies it."""
        return {Verdict.HOLDS: Verdict.FAILS, Verdict.FAILS: Verdict.HOLDS}.get(self, self)


def at_least(k: int, verdicts: Sequence[Verdict]) -> Verdict:
    """Whether k of them hold: it fails once so many fail that k cannot be reached any more."""
    holding = verdicts.count(Verdict.HOLDS)
    if holding >= k:
        return Verdict.HOLDS
    possible = len(verdicts) - verdicts.count(Verdict.FAILS)
    return Verdict.FAILS if possible < k else Verdict.UNDECIDED

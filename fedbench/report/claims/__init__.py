"""From a paper's claims to verdicts, on the printed numbers and on the measured ones."""

from fedbench.report.claims.finding import Finding, tidy
from fedbench.report.claims.judge import findings

__all__ = ["Finding", "findings", "tidy"]

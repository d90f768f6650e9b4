"""From a paper's claims to verdicts, on the printed numbers and on the measured ones."""

from fedbench.report.claims.finding import Finding
from fedbench.report.claims.judge import findings
from fedbench.report.claims.table import tidy

__all__ = ["Finding", "findings", "tidy"]

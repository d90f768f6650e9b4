"""From a paper's claims to verdicts, on the printed numbers and on the measured ones."""

from fedbench.claims.finding import Finding
from fedbench.claims.judge import findings

__all__ = ["Finding", "findings"]

"""From a paper's claims to verdicts, on the numbers that it prints and on those measured here.

In the order of the work: `expand` turns a claim into comparisons (`comparison`), whose sides are
found by `sides`; `measured` and `paper_numbers` give the numbers; `interval` puts bounds on an
effect, `limits` decides a comparison by them, and `judge` decides the claim, sharing the risk of a
wrong verdict as `tree` says. `finding` holds the result, `wording` says it in words, `frame` and
`page` show it.
"""

from fedbench.report.claims.finding import Finding
from fedbench.report.claims.frame import tidy
from fedbench.report.claims.judge import findings

__all__ = ["Finding", "findings", "tidy"]

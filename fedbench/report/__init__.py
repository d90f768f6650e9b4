"""Pages, tables, figures and claims from collected runs: `build` writes them all.

Only some tables of facts import torch.
"""

from fedbench.report.site import build

__all__ = ["build"]

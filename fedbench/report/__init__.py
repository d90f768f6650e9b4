"""Pages, tables, figures and claims from collected runs: `build` writes them all."""

from fedbench.report.site import build

__all__ = ["build"]

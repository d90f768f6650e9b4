"""Pages, tables and figures from collected frames: `build` writes them all, without torch."""

from fedbench.report.site import build

__all__ = ["build"]

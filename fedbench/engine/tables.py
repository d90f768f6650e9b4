"""The tables that a run leaves beside its history."""

from collections.abc import Sequence

import pandas as pd

from fedbench.engine.probe import Probe
from fedbench.engine.problem import Problem
from fedbench.engine.progress import Progress


def tables(
    problem: Problem, probes: Sequence[Probe], progress: Progress
) -> dict[str, pd.DataFrame]:
    """The table of the clients' label counts, and one per probe that wrote rows."""
    held = problem.label_counts
    clients, labels = held.nonzero()
    counts = {"client": clients, "label": labels, "count": held[clients, labels]}
    rows = zip(probes, progress.tables, strict=True)
    return {"clients": pd.DataFrame(counts)} | {
        type(probe).__name__.lower(): pd.DataFrame(table) for probe, table in rows if table
    }

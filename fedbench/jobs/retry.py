"""Lets Snakemake train failed runs again when it is started the next time."""

from collections.abc import Collection
from pathlib import Path

from fedbench.plan.schedule import Schedule
from fedbench.store import Results


def let_retry(schedule: Schedule, failed: Collection[str], results: Path) -> None:
    """Delete what makes Snakemake take the runs for trained: their stamps.

    The winners of searches with a failed trial are deleted too, to be chosen again.
    """
    folders = Results(results)
    for run_id in failed:
        folders.stamp(run_id).unlink(missing_ok=True)
    for search, trials in schedule.searches.items():
        if not set(trials).isdisjoint(failed):
            folders.winner(search).unlink(missing_ok=True)

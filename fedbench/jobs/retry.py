"""Lets Snakemake train failed runs again when it is started the next time."""

from collections.abc import Collection
from pathlib import Path

from fedbench.plan.schedule import Schedule
from fedbench.store import Results


def let_retry(schedule: Schedule, failed: Collection[str], results: Path) -> None:
    """Write the files, newer than the runs' stamps, that make Snakemake train the runs again.

    The winners of searches with a failed trial are deleted, to be chosen again.
    """
    folders = Results(results)
    for run_id in failed:
        folders.retry(run_id).touch()
    for search, trials in schedule.searches.items():
        if not set(trials).isdisjoint(failed):
            folders.winner(search).unlink(missing_ok=True)

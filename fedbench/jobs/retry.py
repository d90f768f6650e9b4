"""Lets Snakemake train failed runs again when it is started the next time."""

from pathlib import Path

from fedbench.jobs.status import Overview
from fedbench.plan.schedule import Schedule
from fedbench.store import Results


def let_retry(schedule: Schedule, seen: Overview, results: Path) -> None:
    """Write the files, newer than the runs' stamps, that make Snakemake train the runs again.

    A run that Snakemake takes for done although it is not is among them: somebody has deleted its
    record. The winners of searches with a failed trial are deleted, to be chosen again.
    """
    folders = Results(results)
    gone = [run_id for run_id in seen.left if folders.stamp(run_id).exists()]
    for run_id in (*seen.failed, *gone):
        folders.retry(run_id).touch()
    for search, trials in schedule.searches.items():
        if not seen.failed.keys().isdisjoint(trials):
            folders.winner(search).unlink(missing_ok=True)

"""Lets Snakemake train failed runs again when it is started the next time."""

from pathlib import Path

from fedbench.jobs.status import Overview
from fedbench.plan.outdated import ask_again
from fedbench.plan.schedule import Schedule
from fedbench.store import Results


def let_retry(schedule: Schedule, seen: Overview, results: Path) -> None:
    """Write the files, newer than the runs' stamps, that make Snakemake train the runs again.

    The winners of searches with a failed trial are deleted, to be chosen again.
    """
    folders = Results(results)
    for run_id in seen.failed:
        ask_again(folders.retry(run_id))
    for search, trials in schedule.searches.items():
        if not seen.failed.keys().isdisjoint(trials):
            folders.winner(search).unlink(missing_ok=True)

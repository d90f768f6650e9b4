"""Lets Snakemake train failed runs again when it is started the next time."""

import os
from pathlib import Path

from fedbench.base.files import exists
from fedbench.jobs.status import Overview
from fedbench.plan.plan import Plan
from fedbench.store import Results


def let_retry(plan: Plan, seen: Overview, results: Path) -> None:
    """Make the folders of runs that have a stamp and did not end newer than these stamps.

    The winners of searches with a failed trial are deleted, to be chosen again.
    """
    folders = Results(results)
    for run_id in (*seen.failed, *seen.left):
        if exists(folders.stamp(run_id)):
            os.utime(folders.run(run_id).path)
    for search, trials in plan.trials.items():
        if not seen.failed.keys().isdisjoint(trials):
            folders.winner(search).unlink(missing_ok=True)

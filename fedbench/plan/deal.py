"""Deals runs to training jobs, so that no core stands idle while another has jobs left.

Runs of one job wait for the same files: they are of one data set and one search, and trials, which
a search waits for, are apart from other runs. So what a run waits for does not depend on which
other runs share its job, and Snakemake trains nothing again if the jobs are cut in another way.
"""

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fedbench.plan.data import data_key
from fedbench.plan.plan import Plan

# A core gets at least four jobs, so that all cores end at about the same time; but a job of less
# than a minute is not cut further, as starting a process takes some seconds.
_JOBS_PER_CORE = 4
_WORTH_A_PROCESS = 60.0
# On a cluster a job waits in a queue, and one that is lost is trained again from its checkpoints:
# long enough to be worth the first, short enough for the second.
_ON_CLUSTER = 20 * 60.0


@dataclass(frozen=True)
class Batch:
    """The runs of a job, in the order of the plan, and the seconds that they may take on a core."""

    data: str  # the key of their data set
    search: str  # the id of the search that they wait for, or ''
    trial: bool
    run_ids: list[str]
    seconds: float


def deal(
    plan: Plan, seconds: Mapping[str, float], size: int | None = None, cores: int | None = None
) -> list[Batch]:
    """The jobs that train the runs of which `seconds` has the costs, in the order to start them.

    size: the most runs that a job has; cores: how many jobs run at the same time. Without `cores`,
    as on a cluster, a job takes up to about 20 minutes. Trials come first, since other runs wait
    for them, then the longest jobs.
    """
    longest = _longest(sum(seconds.values()), cores) if cores else _ON_CLUSTER
    batches = [
        Batch(*key, piece, sum(seconds[run_id] for run_id in piece))
        for key, run_ids in _groups(plan, seconds).items()
        for piece in _pieces(run_ids, seconds, size or len(run_ids), longest)
    ]
    return sorted(batches, key=lambda batch: (not batch.trial, -batch.seconds))


def elapsed(seconds: Iterable[float], cores: int) -> float:
    """When the last job ends, if each core takes the next job as soon as it has ended one."""
    ends = [0.0] * cores
    for each in seconds:
        heapq.heapreplace(ends, ends[0] + each)
    return max(ends)


def _longest(total: float, cores: int) -> float:
    """The seconds that a job may take, if `total` seconds of work are done on some cores."""
    share = total / cores
    return max(share / _JOBS_PER_CORE, min(share, _WORTH_A_PROCESS))


def _groups(plan: Plan, run_ids: Iterable[str]) -> dict[tuple[str, str, bool], list[str]]:
    trials = {trial for ids in plan.trials.values() for trial in ids}
    groups: dict[tuple[str, str, bool], list[str]] = {}
    for run_id in run_ids:
        key = data_key(plan.runs[run_id].dataset)
        groups.setdefault((key, plan.searches.get(run_id, ""), run_id in trials), []).append(run_id)
    return groups


def _pieces(
    run_ids: Sequence[str], seconds: Mapping[str, float], size: int, longest: float
) -> list[list[str]]:
    """The runs in as few pieces as `size` and `longest` allow, of about equal seconds.

    The longest run goes first, each to the piece that has the fewest seconds and is not full.
    """
    total = sum(seconds[run_id] for run_id in run_ids)
    count = max(math.ceil(len(run_ids) / size), math.ceil(total / longest) if total else 1)
    pieces: list[list[str]] = [[] for _ in range(min(count, len(run_ids)))]
    open_ = [(0.0, n) for n in range(len(pieces))]  # by seconds: the pieces that are not full
    for run_id in sorted(run_ids, key=seconds.__getitem__, reverse=True):
        taken, n = open_[0]
        pieces[n].append(run_id)
        if len(pieces[n]) < size:
            heapq.heapreplace(open_, (taken + seconds[run_id], n))
        else:
            heapq.heappop(open_)
    place = {run_id: n for n, run_id in enumerate(run_ids)}
    return [sorted(piece, key=place.__getitem__) for piece in pieces]

"""Divides runs into jobs, so that no core stands idle while another has jobs left."""

import heapq
import math
from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fedbench.base import registry
from fedbench.base.grouping import grouped
from fedbench.plan.data_checks import data_key, samples
from fedbench.plan.plan import Plan
from fedbench.spec import RunSpec

# A core gets at least four jobs, so that all cores end at about the same time; but a job of less
# than a minute is not cut further, as starting a process takes some seconds.
_JOBS_PER_CORE = 4
_WORTH_A_PROCESS = 60.0
# On a cluster a job waits in a queue, and one that is lost is trained again from its checkpoints:
# long enough to be worth the first, short enough for the second.
_ON_CLUSTER = 20 * 60.0

_START = 5  # minutes until a process trains on a busy file system, and to load its data
_FACTOR = 3  # by which a run may be slower than the plan expects
_PROCESS = 1000  # MB of a process with PyTorch, its data set left out
_USUAL = (1000.0, 10.0)  # MEGABYTES of a model that does not declare them
_BATCH = 64  # samples of a mini-batch for which MEGABYTES are declared
_TABLES = 2  # vectors of model size that a method may store for each client
_SPILLED = 4000  # MB of these; beyond `Machine.state_gb` they lie on disk
_MAPPED = 4000  # MB of a data set; a larger one is mapped from a file


@dataclass(frozen=True)
class Job:
    """Runs for one process that wait for the same files, so that jobs may be cut in any way."""

    data: str  # the key of their data set
    search: str  # the id of the search that they wait for, or ''
    trial: bool  # whether searches wait for them
    runs: dict[str, RunSpec]  # in the order of the plan
    seconds: float  # that they may take on a core

    @property
    def minutes(self) -> int:
        """The time limit that a cluster is asked for."""
        return _START + math.ceil(_FACTOR * self.seconds / 60)

    @property
    def memory_mb(self) -> int:
        """The memory that a cluster is asked for: that of the run which takes the most."""
        return max(map(memory_mb, self.runs.values()))


def make_jobs(
    plan: Plan, seconds: Mapping[str, float], size: int | None = None, cores: int | None = None
) -> list[Job]:
    """The jobs that train the runs of which `seconds` has the costs, in the order to start them.

    size: the most runs that a job has; cores: how many jobs run at the same time, none on a
    cluster. Trials come first, those of a search in as few jobs as can be.
    """
    longest = _ON_CLUSTER
    if cores:
        share = sum(seconds.values()) / cores
        longest = max(share / _JOBS_PER_CORE, min(share, _WORTH_A_PROCESS))
    # by trial, the first search that waits for it
    searched = {trial: key for key, ids in reversed(plan.trials.items()) for trial in ids}

    def awaited(run_id: str) -> tuple[str, str, bool]:
        data = data_key(plan.runs[run_id].dataset)
        return data, plan.searches.get(run_id, ""), run_id in searched

    jobs = []
    for key, run_ids in grouped(seconds, awaited).items():
        searches = grouped(run_ids, lambda run_id: searched.get(run_id, run_id))
        for piece in _pieces([*searches.values()], seconds, size or len(seconds), longest):
            spent = sum(seconds[run_id] for run_id in piece)
            jobs.append(Job(*key, {run_id: plan.runs[run_id] for run_id in piece}, spent))
    return sorted(jobs, key=lambda job: (not job.trial, -job.seconds))


def elapsed(seconds: Iterable[float], cores: int) -> float:
    """When the last job ends, if each core takes the next job as soon as it has ended one."""
    ends = [0.0] * cores
    for each in seconds:
        heapq.heapreplace(ends, ends[0] + each)
    return max(ends)


def _pieces(
    whole: Sequence[list[str]], seconds: Mapping[str, float], size: int, longest: float
) -> list[list[str]]:
    """The runs in as few pieces as `size` and `longest` allow, of about equal seconds.

    What is `whole` is divided only where one job cannot hold it. The longest unit goes first.
    """

    def fewest(runs: int, total: float) -> int:
        return max(math.ceil(runs / size), math.ceil(total / longest) if total else 1)

    units: list[list[str]] = []
    for ids in whole:
        parts = fewest(len(ids), sum(seconds[run_id] for run_id in ids))
        step = math.ceil(len(ids) / min(parts, len(ids)))
        units += [ids[k : k + step] for k in range(0, len(ids), step)]
    costs = [sum(seconds[run_id] for run_id in unit) for unit in units]
    count = fewest(sum(map(len, units)), sum(costs))
    pieces: list[list[int]] = [[] for _ in range(min(count, len(units)))]  # places in `units`
    # seconds, runs and place of those not full, the shortest first
    open_ = [(0.0, 0, n) for n in range(len(pieces))]
    for unit in sorted(range(len(units)), key=costs.__getitem__, reverse=True):
        fitting = (k for k, each in enumerate(open_) if each[1] + len(units[unit]) <= size)
        place = next(fitting, len(open_))
        if place == len(open_):
            open_.append((0.0, 0, len(pieces)))
            pieces.append([])
        taken, held, n = open_.pop(place)
        pieces[n].append(unit)
        if held + len(units[unit]) < size:
            insort(open_, (taken + costs[unit], held + len(units[unit]), n))
    return [[run_id for unit in sorted(piece) for run_id in units[unit]] for piece in pieces]


def memory_mb(run: RunSpec) -> int:
    """The memory of a process that trains the run."""
    model = registry.find("model", run.model.name).constants
    training, weights = model.get("MEGABYTES") or _USUAL
    states = min(_TABLES * run.clients * weights, _SPILLED) if run.parts else 0.0
    batch = run.batch or samples(run.dataset)[0] / run.clients  # or all that a client has
    batches = max(1.0, batch / _BATCH) * training
    # the data set is there twice while it is read; samples without a shape are small
    shape = registry.find("dataset", run.dataset.name).constants.get("SHAPE") or (0,)
    data = min(2 * sum(samples(run.dataset)) * math.prod(shape) / 2**20, _MAPPED)
    return math.ceil(_PROCESS + data + batches + states)

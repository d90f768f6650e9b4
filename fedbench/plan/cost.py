"""What training a run costs, worked out from its settings before it is trained."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fedbench.plan.data import samples
from fedbench.plan.speeds import Speeds
from fedbench.sampling.sampler import cohort_size
from fedbench.spec import Choice, RunSpec

Sizes = Callable[[Choice], tuple[int, int]]  # training and test samples of a data set

_EVALUATION = 1 / 3  # of a training pass: forward only


@dataclass(frozen=True)
class Cost:
    """The cost of a run: samples that it trains on, rows of its history, seconds on a core or GPU.

    A sample is counted as often as it goes forward and backward.
    """

    passes: float
    rows: float
    core_seconds: float
    gpu_seconds: float


def costs(runs: Mapping[str, RunSpec], speeds: Speeds, sizes: Sizes) -> dict[str, Cost]:
    """The cost of each run by its id; runs that differ in the seed alone cost the same."""
    by_settings: dict[tuple[object, ...], Cost] = {}
    by_run = {}
    for run_id, run in runs.items():
        key = _decisive(run)
        if key not in by_settings:
            by_settings[key] = _cost(run, speeds, sizes)
        by_run[run_id] = by_settings[key]
    return by_run


def _cost(run: RunSpec, speeds: Speeds, sizes: Sizes) -> Cost:
    trained, scored = _passes(run, *sizes(run.dataset))
    work = trained + _EVALUATION * scored
    rows = run.rounds / run.eval_every
    return Cost(trained, rows, work / speeds.on_core(run), work / speeds.on_gpu(run))


def passes(run: RunSpec, folder: Path = Path()) -> tuple[float, float]:
    """(samples trained on, samples scored), assuming that the partition uses all the data.

    folder: holds the data files of a data set that does not declare its size.
    """
    return _passes(run, *samples(run.dataset, folder))


def _passes(run: RunSpec, train: int, test: int) -> tuple[float, float]:
    cohort = cohort_size(run.clients, run.participation)
    share = train * (1 - run.validation) / run.clients
    work = (
        run.steps * min(run.batch or share, share) if run.steps else (run.local_epochs or 1) * share
    )
    scored = (test + train * run.validation) * (run.rounds // run.eval_every)
    return run.rounds * cohort * work, scored


def _decisive(run: RunSpec) -> tuple[object, ...]:
    """Everything that the cost follows from."""
    local = (run.epochs, run.steps, run.batch, run.clients, run.participation)
    scored = (run.rounds, run.eval_every, run.validation)
    choices = (run.dataset, run.model)
    return (*local, *scored, *(part for each in choices for part in (each.name, repr(each.params))))

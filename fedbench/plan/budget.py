"""What a plan costs, before launching it: runs, sample passes, hours and disk.

Hours follow from how fast finished runs trained the same model, or without such runs from the
speed that the model declares for one core. A GPU on which no run of the model was timed is assumed
to be as fast as `GPU_CORES` cores.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fedbench.base import registry
from fedbench.base.errors import FedbenchError
from fedbench.base.files import read_json
from fedbench.base.strict import checked
from fedbench.plan.data import samples
from fedbench.plan.plan import Plan
from fedbench.spec import Choice, RunSpec
from fedbench.store import Results, require_record

_REMEDY = "delete it to train the run again"
GPU_CORES = 100  # an assumption, not a measurement; small models fill a GPU badly
_EVALUATION = 1 / 3  # of a training pass: forward only


@dataclass(frozen=True)
class Budget:
    """The cost of some runs; hours are those of one core, or of one GPU in its place.

    sample_passes: training samples, each counted as often as it goes forward and backward; disk_mb:
    the size of the run folders in MB.
    """

    runs: int
    sample_passes: float
    core_hours: float
    gpu_hours: float
    disk_mb: float

    def words(self) -> dict[str, str]:
        """The budget in words; 'hours here' are those with all cores of this machine."""
        hours = self.core_hours / (os.cpu_count() or 1)
        return {
            "runs": str(self.runs),
            "sample passes": f"{self.sample_passes:.2e}",
            "hours here": _hours(hours),
            "GPU hours": _hours(self.gpu_hours),
            "disk": f"{self.disk_mb:.0f} MB",
        }


@dataclass(frozen=True)
class Speeds:
    """Samples per second that finished runs trained on, by model: on one core and on one GPU."""

    core: dict[str, float] = field(default_factory=dict)
    gpu: dict[str, float] = field(default_factory=dict)

    def on_core(self, run: RunSpec) -> float:
        """Measured for the run's model, else the speed that the model declares."""
        reference = registry.find("model", run.model.name).constants["SAMPLES_PER_SECOND"]
        return self.core.get(_named(run.model), float(reference))

    def on_gpu(self, run: RunSpec) -> float:
        """Measured for the run's model, else that of `GPU_CORES` cores."""
        return self.gpu.get(_named(run.model), GPU_CORES * self.on_core(run))


def budget(runs: Iterable[RunSpec], speeds: Speeds, folder: Path = Path()) -> Budget:
    """Cost of some runs; `folder` holds the data files of those that do not declare their size."""
    costs = [(run, *passes(run, folder)) for run in runs]
    work = [(run, trained + _EVALUATION * scored) for run, trained, scored in costs]
    rows = sum(run.rounds / run.eval_every for run, *_ in costs)
    return Budget(
        len(costs),
        sum(trained for _, trained, _ in costs),
        sum(count / speeds.on_core(run) for run, count in work) / 3600,
        sum(count / speeds.on_gpu(run) for run, count in work) / 3600,
        0.02 * len(costs) + rows * 1e-4,
    )


def _named(model: Choice) -> str:
    """The model in words, without parameters written at their defaults, which change nothing."""
    return str(model.brief("model") if model.name in registry.entries("model") else model)


def _hours(hours: float) -> str:
    return f"{hours:.2f}" if hours < 100 else f"{hours:,.0f}"


def passes(run: RunSpec, folder: Path = Path()) -> tuple[float, float]:
    """(samples trained on, samples scored), assuming that the partition uses all the data."""
    train, test = samples(run.dataset, folder)
    cohort = max(1, round(run.clients * run.participation))
    share = train * (1 - run.validation) / run.clients
    work = (
        run.steps * min(run.batch or share, share) if run.steps else (run.local_epochs or 1) * share
    )
    scored = (test + train * run.validation) * (run.rounds // run.eval_every)
    return run.rounds * cohort * work, scored


def measured_speeds(results: Path, core: Mapping[str, float] | None = None) -> Speeds:
    """The speeds of the finished runs in `results`; `core` has those of models without runs."""
    total: dict[tuple[bool, str], tuple[float, float]] = {}
    for file in Results(results).records():
        on_cpu, model, passes, seconds = _reached(file)
        if seconds > 0:
            done = total.get((on_cpu, model), (0.0, 0.0))
            total[on_cpu, model] = (done[0] + passes, done[1] + seconds)
    reached = {at: done / seconds for at, (done, seconds) in total.items()}
    here, gpu = ({m: v for (cpu, m), v in reached.items() if cpu is want} for want in (True, False))
    return Speeds({**(core or {}), **here}, gpu)


def _reached(file: Path) -> tuple[bool, str, float, float]:
    """Whether on a CPU, the model, samples trained on and seconds that it took."""
    record = read_json(file)
    if "objects" in record:  # no model that a plan could name
        return True, "", 0.0, 0.0
    found = require_record(file, record, _REMEDY)
    try:
        model = _named(checked(Choice, found.resolved["model"]))
        return found.device == "cpu", model, found.sample_passes, found.seconds["train"]
    except (FedbenchError, KeyError) as error:
        raise FedbenchError(f"{file}: not a run's record ({error!r}); {_REMEDY}") from None


def by_table(plan: Plan, speeds: Speeds, folder: Path = Path()) -> dict[str, Budget]:
    """The cost of each table and figure alone, with its searches; a shared run counts in each."""
    found = {}
    for name, paper in plan.papers.items():
        for key, item in paper.items():
            cells = plan.select(name, item.grid, item.where)
            found[f"{name}/{key}"] = budget(plan.with_trials(cells), speeds, folder)
    return found

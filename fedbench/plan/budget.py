"""What a plan costs, before launching it: runs, sample passes, hours and disk.

Times rest on the throughput of finished runs where there are any, else on each model's reference
figure for one core; a GPU that no run was measured on is taken for so many cores.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from fedbench.base import registry
from fedbench.base.errors import FedbenchError
from fedbench.base.files import matching, read_json
from fedbench.base.strict import checked
from fedbench.plan.plan import Plan
from fedbench.spec import Choice, RunSpec, brief
from fedbench.store import require_record

_REMEDY = "delete it to train the run again"
GPU_CORES = 100  # an assumption, not a measurement; small models fill a GPU badly
_EVALUATION = 1 / 3  # of a training pass: forward only


@dataclass(frozen=True)
class Budget:
    """sample_passes: through one forward and backward pass; hours of one core, or one GPU instead.

    disk: what the run folders take, in MB.
    """

    runs: int
    sample_passes: float
    core_hours: float
    gpu_hours: float
    disk_mb: float

    def words(self) -> dict[str, str]:
        """The budget for a reader; hours with every core of this machine training a run."""
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
    """Samples a second that finished runs reached, by model: on one core, and on one GPU."""

    core: dict[str, float] = field(default_factory=dict)
    gpu: dict[str, float] = field(default_factory=dict)

    def on_core(self, run: RunSpec) -> float:
        """Measured for this very model, else its reference figure."""
        reference = registry.find("model", run.model.name).constants["SAMPLES_PER_SECOND"]
        return self.core.get(_named(run.model), float(reference))

    def on_gpu(self, run: RunSpec) -> float:
        """Measured for this very model, else that of so many cores."""
        return self.gpu.get(_named(run.model), GPU_CORES * self.on_core(run))


def budget(runs: Iterable[RunSpec], speeds: Speeds) -> Budget:
    """Cost of some runs."""
    found = [(run, *passes(run)) for run in runs]
    work = [(run, trained + _EVALUATION * scored) for run, trained, scored in found]
    rows = sum(run.rounds / run.eval_every for run, *_ in found)
    return Budget(
        len(found),
        sum(trained for _, trained, _ in found),
        sum(samples / speeds.on_core(run) for run, samples in work) / 3600,
        sum(samples / speeds.on_gpu(run) for run, samples in work) / 3600,
        0.02 * len(found) + rows * 1e-4,
    )


def _named(model: Choice) -> str:
    """The model without what is written at its default, which makes no other model of it."""
    return str(brief("model", model) if model.name in registry.entries("model") else model)


def _hours(hours: float) -> str:
    return f"{hours:.2f}" if hours < 100 else f"{hours:,.0f}"


def passes(run: RunSpec) -> tuple[float, float]:
    """(samples trained on, samples scored); partitions are taken to use all the data."""
    train, test = _samples(run.dataset.name, json.dumps(run.dataset.params))
    cohort = max(1, round(run.clients * run.participation))
    share = train * (1 - run.validation) / run.clients
    work = (
        run.steps * min(run.batch or share, share) if run.steps else (run.local_epochs or 1) * share
    )
    scored = (test + train * run.validation) * (run.rounds // run.eval_every)
    return run.rounds * cohort * work, scored


@cache
def _samples(name: str, params: str) -> tuple[int, int]:
    found: tuple[int, int] | None = registry.build("dataset", name, json.loads(params)).samples()
    if found is None:
        raise FedbenchError(f"dataset '{name}': its size is not known before it is read")
    return found


def measured_speeds(results: Path, core: Mapping[str, float] | None = None) -> Speeds:
    """What the finished runs in `results` reached; `core` for models that none of them trained."""
    total: dict[tuple[bool, str], tuple[float, float]] = {}
    for file in matching(results / "runs", "*/run.json"):
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


def by_table(plan: Plan, speeds: Speeds) -> dict[str, Budget]:
    """Cost of each table and figure on its own, searches included; shared runs count in each."""
    found = {}
    for name, paper in plan.papers.items():
        for key, item in paper.items():
            cells = plan.select(name, item.grid, item.where)
            found[f"{name}/{key}"] = budget(plan.with_trials(cells), speeds)
    return found

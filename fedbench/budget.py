"""What a plan costs, before launching it: runs, sample passes, hours and disk."""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fedbench import registry
from fedbench.plan import Plan
from fedbench.spec import RunSpec

_EVALUATION = 1 / 3  # of a training pass: forward only


@dataclass(frozen=True)
class Budget:
    """runs; sample_passes: through one forward and backward pass; hours of one core; disk in MB."""

    runs: int
    sample_passes: float
    core_hours: float
    disk_mb: float

    def words(self) -> dict[str, str]:
        """The budget for a reader; hours with every core of this machine training a run."""
        hours = self.core_hours / (os.cpu_count() or 1)
        return {
            "runs": str(self.runs),
            "sample passes": f"{self.sample_passes:.2e}",
            "hours here": f"{hours:.2f}" if hours < 100 else f"{hours:,.0f}",
            "disk": f"{self.disk_mb:.0f} MB",
        }


def budget(runs: Iterable[RunSpec], measured: dict[str, float]) -> Budget:
    """Cost of some runs; `measured` holds samples per second and core by model."""
    found = list(runs)
    work = [passes(run) for run in found]
    hours = sum(
        (trained + _EVALUATION * scored) / speed(run, measured) / 3600
        for run, (trained, scored) in zip(found, work, strict=True)
    )
    rows = sum(run.rounds / run.eval_every for run in found)
    return Budget(len(found), sum(w[0] for w in work), hours, (0.02 * len(found)) + rows * 1e-4)


def passes(run: RunSpec) -> tuple[float, float]:
    """(samples trained on, samples scored); partitions are taken to use all the data."""
    source = registry.find("dataset", run.dataset.name).constants
    train, test = float(source["SAMPLES"][0]), float(source["SAMPLES"][1])
    cohort = max(1, round(run.clients * run.participation))
    share = train * (1 - run.validation) / run.clients
    work = (
        run.steps * min(run.batch or share, share) if run.steps else (run.local_epochs or 1) * share
    )
    scored = (test + train * run.validation) * (run.rounds // run.eval_every)
    return run.rounds * cohort * work, scored


def speed(run: RunSpec, measured: dict[str, float]) -> float:
    """Samples per second and core: measured for this very model, else its reference figure."""
    reference = registry.find("model", run.model.name).constants["SAMPLES_PER_SECOND"]
    return measured.get(str(run.model), float(reference))


def measured_speeds(results: Path) -> dict[str, float]:
    """Samples per second that finished runs in `results` reached on a CPU, by model."""
    total: dict[str, tuple[float, float]] = {}
    for file in (results / "runs").glob("*/run.json"):
        record = json.loads(file.read_text(encoding="utf-8"))
        if record["device"] != "cpu" or not record["seconds"]["train"]:
            continue
        model = str(RunSpec(model=record["resolved"]["model"]).model)
        done, seconds = total.get(model, (0.0, 0.0))
        total[model] = (done + record["sample_passes"], seconds + record["seconds"]["train"])
    return {model: done / seconds for model, (done, seconds) in total.items()}


def by_table(plan: Plan, measured: dict[str, float]) -> dict[str, Budget]:
    """Cost of each table and figure on its own, searches included; shared runs count in each."""
    found = {}
    for name, paper in plan.papers.items():
        for key, item in paper.items():
            cells = plan.select(name, item.grid, item.where)
            found[f"{name}/{key}"] = budget(plan.with_trials(cells), measured)
    return found

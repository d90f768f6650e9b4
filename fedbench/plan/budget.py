"""What a plan costs, before launching it: runs, sample passes, hours and disk."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fedbench.base.cores import cores as here
from fedbench.plan.cost import Cost, costs
from fedbench.plan.data import samples
from fedbench.plan.deal import deal, elapsed
from fedbench.plan.plan import Plan
from fedbench.plan.speeds import Speeds


@dataclass(frozen=True)
class Budget:
    """The cost of some runs; core and GPU hours are those of a single core or GPU.

    sample_passes: training samples, each counted as often as it goes forward and backward;
    hours_here: until the last run ends, with all cores of a machine; disk_mb: the size of the run
    folders in MB.
    """

    runs: int
    sample_passes: float
    core_hours: float
    gpu_hours: float
    hours_here: float
    disk_mb: float

    def words(self) -> dict[str, str]:
        """The budget in words; 'hours here' are those with all cores of this machine."""
        return {
            "runs": str(self.runs),
            "sample passes": f"{self.sample_passes:.2e}",
            "hours here": _hours(self.hours_here),
            "GPU hours": _hours(self.gpu_hours),
            "disk": f"{self.disk_mb:.0f} MB",
        }


def by_table(
    plan: Plan,
    speeds: Speeds,
    folder: Path = Path(),
    cores: int | None = None,
    parts: Sequence[tuple[str, Plan]] = (),
) -> dict[str, Budget]:
    """The cost of each table and figure alone, with its searches, and of all of them together.

    A run that several tables share counts in each, and once in all together. folder: holds the data
    files of data sets that do not declare their size; cores: by default those of this machine;
    parts: plans of some of the runs, whose cost comes last, by name.
    """
    all_costs = costs(plan.runs, speeds, partial(samples, folder=folder))
    needed = {
        f"{name}/{key}": plan.needed(plan.select(name, item.grid, item.where))
        for name, paper in plan.papers.items()
        for key, item in paper.items()
    }
    needed["all, shared runs once"] = list(plan.runs)
    needed |= {name: list(part.runs) for name, part in parts}
    on = cores or here()
    return {name: _budget(plan, ids, all_costs, on) for name, ids in needed.items()}


def _budget(plan: Plan, ids: Iterable[str], all_costs: Mapping[str, Cost], cores: int) -> Budget:
    costs_by_run = {run_id: all_costs[run_id] for run_id in ids}
    seconds = {run_id: cost.core_seconds for run_id, cost in costs_by_run.items()}
    jobs = deal(plan, seconds, cores=cores)
    return Budget(
        len(costs_by_run),
        sum(cost.passes for cost in costs_by_run.values()),
        sum(seconds.values()) / 3600,
        sum(cost.gpu_seconds for cost in costs_by_run.values()) / 3600,
        elapsed([job.seconds for job in jobs], cores) / 3600,
        0.02 * len(costs_by_run) + sum(cost.rows for cost in costs_by_run.values()) * 1e-4,
    )


def _hours(hours: float) -> str:
    if 0 < hours < 0.01:
        return "< 0.01"
    return f"{hours:.2f}" if hours < 100 else f"{hours:,.0f}"

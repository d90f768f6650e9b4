"""What training costs: how fast models train, what a run and a plan take, what a workflow took."""

from collections import Counter
from collections.abc import Collection, Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from fedbench.base import registry
from fedbench.base.checks import checked
from fedbench.base.errors import FedbenchError
from fedbench.base.processes import cores as here
from fedbench.plan.data_checks import samples
from fedbench.plan.plan import Plan
from fedbench.plan.train_jobs import elapsed, make_jobs
from fedbench.sampling.sampler import cohort_size
from fedbench.spec import Choice, RunSpec
from fedbench.store import Results, RunFolder

USUAL = 1_000.0  # samples per second on a core, of a model that declares no speed; a guess
GPU_CORES = 100  # an assumption, not a measurement; small models fill a GPU badly
_EVALUATION = 1 / 3  # of a training pass: forward only


@dataclass(frozen=True)
class Speeds:
    """Samples per second that finished runs trained on, by model: on one core and on one GPU."""

    core: dict[str, float] = field(default_factory=dict)
    gpu: dict[str, float] = field(default_factory=dict)

    def on_core(self, run: RunSpec) -> float:
        """Measured for the run's model, else the speed that the model declares, else `USUAL`."""
        declared = registry.find("model", run.model.name).constants.get("SAMPLES_PER_SECOND")
        return self.core.get(_named(run.model), float(declared or USUAL))

    def on_gpu(self, run: RunSpec) -> float:
        """Measured for the run's model, else that of `GPU_CORES` cores."""
        return self.gpu.get(_named(run.model), GPU_CORES * self.on_core(run))


def measured_speeds(results: Path, core: Mapping[str, float] | None = None) -> Speeds:
    """The speeds of the finished runs in `results`; `core` has those of models without runs."""
    done, took = Counter[tuple[bool, str]](), Counter[tuple[bool, str]]()
    for file in Results(results).records():
        with suppress(FedbenchError, KeyError):  # `status` and `collect` name a damaged record
            record = RunFolder(file.parent).record() or {}
            trained, seconds = record["sample_passes"], record["seconds"]["train"]
            known = all(isinstance(number, int | float) for number in (trained, seconds))
            if known and seconds > 0 and "objects" not in record:  # then a plan can name its model
                model = _named(checked(Choice, record["resolved"]["model"]))
                done[record["device"] == "cpu", model] += trained
                took[record["device"] == "cpu", model] += seconds
    reached = {at: done[at] / seconds for at, seconds in took.items()}
    here, gpu = ({m: v for (cpu, m), v in reached.items() if cpu is want} for want in (True, False))
    return Speeds({**(core or {}), **here}, gpu)


def _named(model: Choice) -> str:
    """The model in words, without parameters written at their defaults, which change nothing."""
    return str(model.brief("model") if model.name in registry.entries("model") else model)


@dataclass(frozen=True)
class Cost:
    """The cost of a run."""

    passes: float  # samples, as often as they go forward and backward
    rows: float  # of its history
    core_seconds: float
    gpu_seconds: float


def costs(
    runs: Mapping[str, RunSpec], speeds: Speeds, folder: Path | None = None
) -> dict[str, Cost]:
    """The cost of each run by its id; `folder` has the files of data sets of unknown size."""
    found: dict[str, Cost] = {}
    for run_id, run in runs.items():
        trained, scored = passes(run, *samples(run.dataset, folder))
        work, rows = trained + _EVALUATION * scored, -(-run.rounds // run.eval_every)
        seconds = work / speeds.on_core(run), work / speeds.on_gpu(run)
        found[run_id] = Cost(trained, rows, *seconds)
    return found


def passes(run: RunSpec, train: int, test: int) -> tuple[float, float]:
    """(samples trained on, samples scored), assuming that the partition uses all the data."""
    cohort = cohort_size(run.clients, run.participation)
    share = train * (1 - run.validation) / run.clients
    unit = min(run.batch or share, share) if run.steps else share
    work = run.work.build("work").mean(run.most) * unit
    scored = (test + train * run.validation) * -(-run.rounds // run.eval_every)
    return run.rounds * cohort * work, scored


@dataclass(frozen=True)
class Budget:
    """The cost of some runs."""

    runs: int
    sample_passes: float
    gpu_hours: float  # of one GPU
    hours_here: float  # until the last run ends, with all cores of a machine
    disk_mb: float  # of the run folders

    def words(self) -> dict[str, str]:
        """The budget in words."""
        return {
            "runs": str(self.runs),
            "sample passes": f"{self.sample_passes:.2e}",
            "hours here": in_words(self.hours_here),
            "GPU hours": in_words(self.gpu_hours),
            "disk": f"{self.disk_mb:.0f} MB",
        }


def by_table(
    plan: Plan,
    speeds: Speeds,
    folder: Path = Path(),
    parts: Sequence[tuple[str, Plan]] = (),
    most: int | None = None,
) -> dict[str, Budget]:
    """The cost of each table and figure alone, with its searches, and of all of them together.

    folder: of the data files; parts: plans of some of the runs, whose cost comes last, by name;
    most: with more tables and figures than so many, those of a paper are one row.
    """
    all_costs = costs(plan.runs, speeds, folder)
    needed = plan.of_items()
    if most is not None and len(needed) > most:
        needed = {x: plan.needed(c for c in plan.cells if c.paper == x) for x in plan.papers}
    needed["all, shared runs once"] = list(plan.runs)
    needed |= {name: list(part.runs) for name, part in parts}
    budgets, cores = {}, here()
    for name, ids in needed.items():
        of_runs = {run_id: all_costs[run_id] for run_id in ids}
        seconds = {run_id: cost.core_seconds for run_id, cost in of_runs.items()}
        jobs = make_jobs(plan, seconds, cores=cores)
        budgets[name] = Budget(
            len(of_runs),
            sum(cost.passes for cost in of_runs.values()),
            sum(cost.gpu_seconds for cost in of_runs.values()) / 3600,
            elapsed([job.seconds for job in jobs], cores) / 3600,
            0.02 * len(of_runs) + sum(cost.rows for cost in of_runs.values()) * 1e-4,
        )
    return budgets


def hours_left(
    plan: Plan, claims: Mapping[str, Collection[str]], speeds: Speeds, finished: Container[str]
) -> dict[str, float]:
    """By claim, of whose runs `claims` has the ids, the hours here until they all are finished."""
    all_costs, hours = costs(plan.runs, speeds), {}
    for name, ids in claims.items():
        needed = plan.needed(cell for cell in plan.cells if cell.run_id in ids)
        seconds = [all_costs[run_id].core_seconds for run_id in needed if run_id not in finished]
        hours[name] = max([sum(seconds) / here(), *seconds]) / 3600
    return hours


def in_words(hours: float) -> str:
    """Hours as a table shows them."""
    if 0 < hours < 0.01:
        return "< 0.01"
    return f"{hours:.2f}" if hours < 100 else f"{hours:,.0f}"


def summary(plan: Plan, took: Mapping[str, Sequence[float]]) -> str:
    """Two sentences: how many runs were to be trained; `took` has the jobs' seconds by rule."""
    places = Counter(run_id for ids in plan.of_items().values() for run_id in ids)
    shared = sum(times > 1 for times in places.values())
    told = f"{len(plan.runs):,} runs, {shared:,} of them in several tables or figures"
    runs = told if plan.runs else "Nothing was to be trained"
    rules = [f"{rule} {sum(each):,.0f} s in {len(each)}" for rule, each in took.items()]
    return f"{runs}.\nRules, seconds and jobs: {', '.join(rules) or 'nothing was left to do'}."

"""Whether a scale's runs learn enough for their tables to mean something.

The scales that replace data and models are judged by this: a table of runs near chance ranks noise.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import mean, variance

import pandas as pd

from fedbench.base import registry
from fedbench.paper import moments
from fedbench.paper.items import Table
from fedbench.paper.notation import reading
from fedbench.plan.plan import Cell, Plan
from fedbench.report.values import frames
from fedbench.report.values.guessing import Guess, guess_of
from fedbench.spec import Choice, RunSpec
from fedbench.store import Results

NEAR_SHARE = 0.1  # of all runs may end near chance
MILD = 0.3  # the least α or δ, and
MILD_CLASSES = 3  # the least classes per client, at which FedAvg should learn
_SCORING = ("meanofall", "meanofselected")  # parts that change which model is scored, not training


_SKEWED = "all methods, skewed"


@dataclass(frozen=True)
class Learned:
    """A table's accuracies; `best`, `guess` and `wanted` are means over the runs it is judged by.

    `judged_by` is 'FedAvg' where the table has it in mild settings, else the runs that stand for
    it; where all settings are skewed, a quarter of the gain over guessing is wanted. `methods` and
    `seeds` are standard deviations in percentage points, pooled over settings: between the methods'
    means, and between the seeds of a method. None without two of them.
    """

    name: str
    judged_by: str
    best: float
    guess: float
    wanted: float
    methods: float | None
    seeds: float | None

    @property
    def learns(self) -> bool:
        """Whether the accuracy is as far above that of guessing as it should be."""
        return self.best >= self.wanted

    @property
    def tells_methods_apart(self) -> bool:
        """Whether methods differ by more than seeds do."""
        return self.methods is not None and self.seeds is not None and self.methods > self.seeds


@dataclass(frozen=True)
class _Score:
    """A run's cell, and its accuracies as shares of 1."""

    cell: Cell
    best: float
    last: float
    guess: Guess


def learned(plan: Plan, results: Path) -> list[Learned]:
    """One entry per table of accuracies; tables without finished runs are left out."""
    tables = []
    for name, paper in plan.papers.items():
        scores = _scores(plan, name, results)
        for key, table in paper.tables.items():
            cells = plan.select(name, table.grid, table.where)
            ids = dict.fromkeys(cell.run_id for cell in cells)
            shown = [scores[run_id] for run_id in ids if run_id in scores]
            if shown and _of_accuracy(table):
                tables.append(_learned(f"{name}/{key}", shown))
    return tables


def near_chance(plan: Plan, results: Path) -> tuple[list[str], int]:
    """The ids of the runs that end near guessing, and the number of all runs."""
    scores = {k: v for name in plan.papers for k, v in _scores(plan, name, results).items()}
    near = [key for key, score in scores.items() if score.last < score.guess.limit]
    return near, len(scores)


def _of_accuracy(table: Table) -> bool:
    return any(reading(metric).metric == "accuracy" for metric in table.metrics)


def _scores(plan: Plan, paper: str, results: Path) -> dict[str, _Score]:
    """The accuracies of a paper's runs, by run."""
    frame = frames.read(Results(results).frame(plan.scale, paper))
    best, last = (_read(frame, at) for at in ("best", "final"))
    cells = {cell.run_id: cell for cell in plan.cells if cell.paper == paper}
    guess = guess_of(results)
    return {
        key: _Score(cell, best[key], last[key], its)
        for key, cell in cells.items()
        if key in best and key in last and (its := guess(cell.run.dataset))
    }


def _read(frame: pd.DataFrame, at: str) -> dict[str, float]:
    return moments.values(frame, f"accuracy@{at}", "final")


def _learned(name: str, shown: list[_Score]) -> Learned:
    judged_by, runs = _judged(shown)
    spread = list(_spread(shown))
    methods, seeds = [m for m, _ in spread], [s for _, s in spread if s is not None]
    return Learned(
        name,
        judged_by,
        best=mean(score.best for score in runs),
        guess=mean(score.guess.accuracy for score in runs),
        wanted=mean(_wanted(score.guess, skewed=judged_by == _SKEWED) for score in runs),
        methods=100 * sqrt(mean(methods)) if methods else None,
        seeds=100 * sqrt(mean(seeds)) if seeds else None,
    )


def _wanted(guess: Guess, *, skewed: bool) -> float:
    if not skewed:
        return guess.learned
    return max(guess.limit, guess.accuracy + (guess.learned - guess.accuracy) / 4)


def _judged(shown: list[_Score]) -> tuple[str, list[_Score]]:
    """FedAvg's runs in mild settings; without any, all runs there; without mild settings, all."""
    mild = [score for score in shown if _is_mild(score.cell.run.partition)]
    fedavg = [score for score in mild if _is_fedavg(score.cell.run)]
    if fedavg:
        return "FedAvg", fedavg
    return ("all methods", mild) if mild else (_SKEWED, shown)


def _is_mild(partition: Choice) -> bool:
    """Whether clients' labels differ little: α or δ of at least 0.3, three classes, or IID."""
    params = registry.find("partition", partition.name).fields | partition.params
    skew = params.get("alpha", params.get("delta"))
    if skew is not None:
        return bool(skew >= MILD)
    return bool(params["s"] >= MILD_CLASSES) if "s" in params else True


def _is_fedavg(run: RunSpec) -> bool:
    """Whether all parts but those that say which model is scored are missing, or change nothing."""
    parts = [part for part in run.parts if part.name not in _SCORING]
    plain = Choice(name="twosided", params={"kappa": 1})
    return not parts or [part.brief("method") for part in parts] == [plain.brief("method")]


def _spread(shown: list[_Score]) -> Iterator[tuple[float, float | None]]:
    """By setting: the variance between methods' means, and the mean one between seeds."""
    settings: dict[str, dict[str, list[float]]] = {}
    for score in shown:
        run = score.cell.run
        setting = f"{run.dataset} {run.model} {run.partition} {run.clients} {run.participation}"
        method = run.changed(seed=0, data_seed=None).id
        settings.setdefault(setting, {}).setdefault(method, []).append(score.best)
    for methods in settings.values():
        if len(methods) > 1:
            seeds = [variance(values) for values in methods.values() if len(values) > 1]
            means = [mean(values) for values in methods.values()]
            yield variance(means), mean(seeds) if seeds else None

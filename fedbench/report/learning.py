"""Whether a scale's runs learn enough for their tables to mean something.

The scales that replace data and models are judged by this: a table of runs near chance ranks noise.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import numpy as np
import pandas as pd

from fedbench.base import registry
from fedbench.paper import moments
from fedbench.paper.items import Table
from fedbench.paper.notation import reading
from fedbench.plan.plan import Plan
from fedbench.report.values import frames
from fedbench.report.values.guessing import Guess, guess_of
from fedbench.spec import Choice, RunSpec
from fedbench.store import Results

_NEAR_SHARE = 0.1  # of all runs may end near chance
_MILD = 0.3  # the least α or δ, and
_MILD_CLASSES = 3  # the least classes per client, at which FedAvg should learn
_SCORING = ("meanofall", "meanofselected")  # parts that change which model is scored, not training
_SKEWED = "all methods, skewed"


@dataclass(frozen=True)
class TableLearning:
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
class Learning:
    """The tables of accuracies, how many runs were collected, and which end near chance."""

    tables: list[TableLearning]
    runs: int
    near_chance: list[str]  # ids of runs

    @property
    def weak(self) -> list[str]:
        """The tables that learn too little."""
        return [table.name for table in self.tables if not table.learns]

    @property
    def apart(self) -> int:
        """In how many tables methods differ by more than seeds do."""
        return sum(table.tells_methods_apart for table in self.tables)

    @property
    def holds(self) -> bool:
        """Whether the scale as a whole learns, as `fedbench learned` says."""
        few_near = len(self.near_chance) <= _NEAR_SHARE * self.runs
        return not self.weak and few_near and 2 * self.apart >= len(self.tables)


@dataclass(frozen=True)
class _Score:
    """A run and its accuracies, as shares of 1."""

    run: RunSpec
    best: float
    last: float
    guess: Guess


def judge(plan: Plan, results: Path) -> Learning:
    """How the collected runs of a plan learn; those without an accuracy are left out."""
    tables, scores = [], dict[str, _Score]()
    for name, paper in plan.papers.items():
        scores |= (of_paper := _scores(plan, name, results))
        for key, table in paper.tables.items():
            ids = dict.fromkeys(c.run_id for c in plan.select(name, table.grid, table.where))
            shown = [of_paper[run_id] for run_id in ids if run_id in of_paper]
            if shown and _is_of_accuracy(table):
                tables.append(_judged(f"{name}/{key}", shown))
    near = [run_id for run_id, score in scores.items() if score.last < score.guess.limit]
    return Learning(tables, len(scores), near)


def _is_of_accuracy(table: Table) -> bool:
    return any(reading(metric).metric == "accuracy" for metric in table.metrics)


def _scores(plan: Plan, paper: str, results: Path) -> dict[str, _Score]:
    """The accuracies of a paper's runs, by run."""
    frame = frames.read(Results(results).frame(plan.scale, paper))
    best, last = (moments.values(frame, f"accuracy@{at}", "final") for at in ("best", "final"))
    guess = guess_of(results)
    return {
        run_id: _Score(run, best[run_id], last[run_id], its)
        for run_id, run in plan.of_paper(paper).items()
        if run_id in best and run_id in last and (its := guess(run.dataset))
    }


def _judged(name: str, shown: list[_Score]) -> TableLearning:
    judged_by, scores = _decisive(shown)
    return TableLearning(
        name,
        judged_by,
        mean(score.best for score in scores),
        mean(score.guess.accuracy for score in scores),
        mean(_wanted(score.guess, skewed=judged_by == _SKEWED) for score in scores),
        *_deviations(shown),
    )


def _wanted(guess: Guess, *, skewed: bool) -> float:
    if not skewed:
        return guess.learned
    return max(guess.limit, guess.accuracy + (guess.learned - guess.accuracy) / 4)


def _decisive(shown: list[_Score]) -> tuple[str, list[_Score]]:
    """FedAvg's runs in mild settings; without any, all runs there; without mild settings, all."""
    mild = [score for score in shown if _is_mild(score.run.partition)]
    fedavg = [score for score in mild if _is_fedavg(score.run)]
    if fedavg:
        return "FedAvg", fedavg
    return ("all methods", mild) if mild else (_SKEWED, shown)


def _is_mild(partition: Choice) -> bool:
    """Whether clients' labels differ little: α or δ of at least 0.3, three classes, or IID."""
    params = registry.find("partition", partition.name).fields | partition.params
    skew = params.get("alpha", params.get("delta"))
    if skew is not None:
        return bool(skew >= _MILD)
    return bool(params["s"] >= _MILD_CLASSES) if "s" in params else True


def _is_fedavg(run: RunSpec) -> bool:
    """Whether all parts but those that say which model is scored are missing, or change nothing."""
    parts = [part for part in run.parts if part.name not in _SCORING]
    plain = Choice(name="twosided", params={"kappa": 1})
    return not parts or [part.brief("method") for part in parts] == [plain.brief("method")]


def _deviations(shown: list[_Score]) -> Iterator[float | None]:
    """Those between the methods' means, then between seeds, pooled over settings; in points.

    A setting with one method says nothing of either.
    """
    table = pd.DataFrame({"best": [score.best for score in shown], **_groups(shown)})
    methods = table.groupby(["setting", "method"])["best"].agg(["mean", "var"])
    of_setting = (
        methods.groupby("setting").agg({"mean": "var", "var": "mean"}).dropna(subset="mean")
    )
    for pooled in (of_setting["mean"].mean(), of_setting["var"].mean()):
        yield None if np.isnan(pooled) else float(100 * np.sqrt(pooled))


def _groups(shown: list[_Score]) -> dict[str, list[str]]:
    """The setting and the method of each run, which are the same for all seeds."""
    runs = [score.run for score in shown]
    return {
        "setting": [
            f"{run.dataset} {run.model} {run.partition} {run.clients} {run.participation}"
            for run in runs
        ],
        "method": [run.changed(seed=0, data_seed=None).id for run in runs],
    }

"""Whether a scale's runs learn enough: a table of runs near chance ranks noise."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fedbench.base import registry
from fedbench.paper.yaml_notation import reading
from fedbench.plan.plan import Plan
from fedbench.report.values import collected_frames
from fedbench.report.values.collected_frames import Guess
from fedbench.spec import Choice, RunSpec
from fedbench.store import Results

_NEAR_SHARE = 0.1  # of all runs may end near chance
_MILD = 0.3  # the least α or δ, and
_MILD_CLASSES = 3  # the least classes per client, at which FedAvg should learn
_SCORING = ("meanofall", "meanofselected")  # parts that change which model is scored, not training


class TableLearning(NamedTuple):
    """A table's accuracies, as means over the runs it is judged by, and deviations in points."""

    name: str
    judged_by: str  # 'FedAvg' where the table has it in mild settings, else what stands for it
    best: float
    guess: float
    wanted: float  # where all settings are skewed, a quarter of the gain over guessing
    methods: float | None  # between the methods' means; None without two
    seeds: float | None  # between the seeds of a method; None without two

    @property
    def tells_methods_apart(self) -> bool:
        """Whether methods differ by more than seeds do."""
        return self.methods is not None and self.seeds is not None and self.methods > self.seeds


class Learning(NamedTuple):
    """The tables of accuracies, how many runs were collected, and which end near chance."""

    tables: list[TableLearning]
    runs: int
    near_chance: list[str]  # ids of runs

    @property
    def weak(self) -> list[str]:
        """The tables that learn too little."""
        return [table.name for table in self.tables if table.best < table.wanted]

    @property
    def apart(self) -> list[bool]:
        """Whether methods differ by more than seeds do, of each table with several of both."""
        several = [table for table in self.tables if None not in (table.methods, table.seeds)]
        return [table.tells_methods_apart for table in several]

    @property
    def holds(self) -> bool:
        """Whether the scale as a whole learns, as `fedbench learned` says."""
        few_near = len(self.near_chance) <= _NEAR_SHARE * self.runs
        return not self.weak and few_near and 2 * sum(self.apart) >= len(self.apart)


def judge(plan: Plan, results: Path) -> Learning:
    """How the collected runs of a plan learn; those without an accuracy are left out."""
    tables, near, paths = [], dict[str, bool](), Results(results)
    for name, paper in plan.papers.items():
        frame = collected_frames.read(paths.frame(plan.scale, name))
        collected = collected_frames.Collected(frame, paths.runs)
        best, final = (collected.values(f"accuracy@{x}") for x in ("best", "final"))
        scores = {
            run_id: _scored(run, guess, best[run_id])
            for run_id, run in plan.of_paper(name).items()
            if {run_id} <= best.keys() & final and (guess := collected.guess_of(run.dataset))
        }
        near |= {run_id: final[run_id] < score["limit"] for run_id, score in scores.items()}
        for key, table in paper.tables.items():
            ids = dict.fromkeys(c.run_id for c in plan.select(name, table.grid, table.where))
            shown = [scores[run_id] for run_id in ids if run_id in scores]
            if shown and any(reading(metric).metric == "accuracy" for metric in table.metrics):
                tables.append(_judged(f"{name}/{key}", pd.DataFrame(shown)))
    return Learning(tables, len(near), [run_id for run_id, is_near in near.items() if is_near])


def _scored(run: RunSpec, guess: Guess, best: float) -> dict[str, Any]:
    # FedAvg: all parts but those that say which model is scored are missing, or change nothing
    parts = [part.brief("method") for part in run.parts if part.name not in _SCORING]
    params = registry.find("partition", run.partition.name).fields | run.partition.params
    skew, classes = params.get("alpha", params.get("delta")), params.get("s", _MILD_CLASSES)
    plain = Choice(name="twosided", params={"kappa": 1}).brief("method")
    return {
        "best": best,
        "guess": guess.accuracy,
        "limit": guess.limit,
        "learned": guess.learned,
        "mild": bool(classes >= _MILD_CLASSES if skew is None else skew >= _MILD),
        "fedavg": parts in ([], [plain]),
        "setting": f"{run.dataset} {run.model} {run.partition} {run.clients} {run.participation}",
        "method": run.changed(seed=0, data_seed=None).id,
    }


def _judged(name: str, shown: pd.DataFrame) -> TableLearning:
    """By FedAvg in mild settings; without it, all runs there; without mild settings, all runs."""
    mild = shown[shown["mild"]]
    groups = {"FedAvg": mild[mild["fedavg"]], "all methods": mild, "all methods, skewed": shown}
    judged_by, scores = next((by, group) for by, group in groups.items() if len(group))
    wanted = scores["learned"]
    if scores is shown:
        quarter = scores["guess"] + (wanted - scores["guess"]) / 4
        wanted = quarter.clip(lower=scores["limit"])
    means = (float(column.mean()) for column in (scores["best"], scores["guess"], wanted))
    methods = shown.groupby(["setting", "method"])["best"].agg(["mean", "var"])
    # a setting with one method says nothing of either
    pooled = methods.groupby("setting").agg({"mean": "var", "var": "mean"}).dropna(subset="mean")
    apart = (float(100 * np.sqrt(pooled[of].mean())) for of in ("mean", "var"))
    return TableLearning(name, judged_by, *means, *(None if np.isnan(x) else x for x in apart))

"""Searches of settings: their trials, which settings they choose, what a run was trained with."""

import itertools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedbench.base import registry
from fedbench.base.checks import checked
from fedbench.base.checksums import digest
from fedbench.base.errors import FedbenchError
from fedbench.base.files import exists, read_json
from fedbench.paper.levels import Settings
from fedbench.paper.metrics import SCORES, Metric
from fedbench.paper.moments import values, with_derived
from fedbench.paper.notation import level_text, reading
from fedbench.plan.data import complete, has_failed, same_data
from fedbench.spec import Choice, RunSpec, Tune
from fedbench.spec.fields import WORDS
from fedbench.spec.run import name_of
from fedbench.store import Results, RunFolder

_DATA = {"held-out": "held-out training data", "test": "the test set"}
_SCORES = {"final": "the last accuracy", "mean": "the mean accuracy", "best": "the best accuracy"}


def points(tune: Tune) -> list[dict[str, Any]]:
    """Every combination of the grid's values, in order; the last field changes first."""
    return [dict(zip(tune.grid, v, strict=True)) for v in itertools.product(*tune.grid.values())]


def search_id(run: RunSpec) -> str:
    """The identity of a run's search: its trials' settings, the grid and the rule, but no seed.

    Runs with different seeds share one search, and so do methods whose searches have the same
    trials.
    """
    tune = run.tune and run.tune.model_copy(update={"trials": {}})
    return digest(run.trial().changed(tune=tune, seed=0).settings())


def trial_runs(run: RunSpec) -> list[RunSpec]:
    """The runs of a search: every combination of its grid, with each of the search's seeds.

    A partition that is fixed by `data_seed` is theirs, too.
    """
    tune = run.tune
    if tune is None:
        return []
    trial = run.trial()
    held_out = {"validation": tune.share} if tune.on == "held-out" else {}
    return [
        trial.changed(seed=seed, **held_out, **point)
        for seed in tune.seeds
        for point in points(tune)
    ]


def words(run: RunSpec) -> str:
    """A run's search in words: 'the best of 4 by the last accuracy on the test set'.

    It ends with what the trials train, such as 'trials of FedSAM over 50 rounds', where it is not
    what the run trains.
    """
    tune, trial = run.tune, run.trial()
    if tune is None:
        return ""
    score = _SCORES.get(tune.by) or Metric(tune.by).label.lower()
    tried = f"{score} on {_DATA[tune.on]}"
    method = name_of(trial) or " + ".join(map(str, trial.parts))
    told = [f"of {method}"] if trial.parts != run.parts else []
    told += [f"over {trial.rounds} rounds"] if trial.rounds != run.rounds else []
    trials = f", trials {' '.join(told)}" if told else ""
    return f"the best of {len(points(tune))} by {tried}{trials}"


Winner = dict[str, Any]


def select(run: RunSpec, trials: list[RunSpec], results: Path) -> Winner:
    """The settings with the highest score, a mean over the trials' seeds; the first of equal ones.

    Settings of which a trial diverged are chosen only if one of every setting did. Returns the
    chosen settings, each point's score, the data and the rule of the choice, and whether the winner
    lies on the edge of a grid that could be extended; or, under `failed`, the trials that failed,
    without which there is no fair choice.
    """
    tune = run.tune
    if tune is None:
        raise FedbenchError(f"run {run.id} has no search")
    tried = points(tune)
    if failed := [trial.id for trial in trials if has_failed(trial.id, results)]:
        return {"failed": failed}
    ended = [_Trial(trial, *complete(trial.id, results)) for trial in trials]
    same_data([(trial.spec, trial.record) for trial in ended], results)
    of_point = [
        [trial for trial in ended if trial.spec.changed(**point) == trial.spec] for point in tried
    ]
    scores = [_score(members, tune) for members in of_point]
    ends = [not any(trial.diverged for trial in members) for members in of_point]
    if not any(map(math.isfinite, scores)):
        raise FedbenchError(
            f"its search chooses by {tune.by}, and no trial has it; change tune.by, or give the "
            "trials more rounds"
        )
    sign = -1 if lower_is_better(tune) else 1
    best = max(range(len(tried)), key=lambda i: (ends[i], _rank(sign * scores[i])))
    return {
        "chosen": tried[best],
        "on": tune.on,
        "by": tune.by,
        "parts": [str(part) for part in run.trial().parts],
        "trials": [
            {**point, "score": score if math.isfinite(score) else None}
            for point, score in zip(tried, scores, strict=True)
        ],
        "runs": [trial.id for trial in trials],
        "on_edge": _on_edge(tried[best], tune),
    }


def lower_is_better(tune: Tune) -> bool:
    """Whether the lowest score wins."""
    return tune.by not in WORDS and Metric(tune.by).lower_is_better


def is_accuracy(tune: Tune) -> bool:
    """Whether scores are accuracies, or F1 scores, of which guessing gives some."""
    return tune.by in WORDS or (Metric(tune.by).is_of_labels and not Metric(tune.by).target)


def _rank(score: float) -> float:
    """The score; the worst of all where there is none, or a target was not reached."""
    return score if math.isfinite(score) else -math.inf


@dataclass(frozen=True)
class _Trial:
    """A trial that was trained to its end, its folder, and its record, which is read once."""

    spec: RunSpec
    folder: RunFolder
    record: dict[str, Any]

    @property
    def diverged(self) -> bool:
        """Whether it ended early."""
        return bool(self.record["status"] == "diverged")


def _score(trials: list[_Trial], tune: Tune) -> float:
    """The mean score of the trials at one point of the grid, which differ in their seeds."""
    if tune.by not in WORDS:
        return sum(_metric_of(trial, tune) for trial in trials) / len(trials)
    column = "val_accuracy" if tune.on == "held-out" else "accuracy"
    return sum(_score_of(trial, column, tune.by) for trial in trials) / len(trials)


def _metric_of(trial: _Trial, tune: Tune) -> float:
    """A trial's value of any metric; NaN without one, infinite where a target was not reached."""
    asked = scored(tune)
    history = trial.folder.history(trial.record).assign(
        run_id=trial.spec.id, status=trial.record["status"],
        rounds=trial.spec.rounds, eval_every=trial.spec.eval_every,
    )  # fmt: skip
    found = values(with_derived(history), asked, "final")
    if not found:
        _refuse_unscored(trial, asked)
    return found.get(trial.spec.id, math.nan)


def scored(tune: Tune) -> str:
    """The metric and moment by which trials are compared, of the data that they are scored on."""
    if tune.by in WORDS:
        return f"{'val_' if tune.on == 'held-out' else ''}accuracy@{tune.by}"
    if tune.on == "test":
        return tune.by
    asked = reading(tune.by)
    metric, target = _held_out(asked.metric), asked.target
    after = f"to:{_held_out(target.column)}={target.value!r}" if target else asked.moment
    return f"{metric}@{after}"


def _held_out(column: str) -> str:
    return f"val_{column}" if column.partition("[")[0] in SCORES else column


def _score_of(trial: _Trial, column: str, by: str) -> float:
    """A trial's last accuracy, its best, or the mean; 0 if it diverged before any evaluation."""
    history = trial.folder.history(trial.record)
    scored = history.dropna(subset=[column]) if column in history else history.head(0)
    if scored.empty:
        _refuse_unscored(trial, column)
        return 0.0
    values = scored[column]
    last = float(values.iloc[-1])
    if by == "best":
        return float(values.max())
    missing = _never_made(trial.spec, int(scored["round"].iloc[-1])) if trial.diverged else 0
    total = float(values.sum()) + missing * last  # a diverged model does not change any more
    return last if by == "final" else total / (len(values) + missing)


def _never_made(trial: RunSpec, last: int) -> int:
    """The evaluations after the round `last`, which was one too."""
    return -(-trial.rounds // trial.eval_every) - -(-last // trial.eval_every)


def _refuse_unscored(trial: _Trial, column: str) -> None:
    if not trial.diverged:
        raise FedbenchError(
            f"{trial.folder.path}: has no '{column}', by which its search chooses; a search needs "
            "data with classes and finished trials"
        )


def _on_edge(point: dict[str, Any], tune: Tune) -> list[str]:
    """Fields whose chosen number is the smallest or largest of three or more tried."""
    numbers = {k: [x for x in v if isinstance(x, int | float)] for k, v in tune.grid.items()}
    numeric = {k: v for k, v in numbers.items() if len(v) == len(tune.grid[k]) > 2}
    return [k for k, v in numeric.items() if point[k] in (min(v), max(v))]


def resolved(run: RunSpec, search: str, results: Path) -> RunSpec:
    """The run with the settings that its search chose.

    The settings are chosen anew from the trials. Raises `FedbenchError` if the winner's file says
    other settings, because the file or a trial was changed since.
    """
    file = Results(results).winner(search)
    winner = _winner(file)
    if winner.get("failed"):
        raise FedbenchError(f"its search has no winner, as its trial {winner['failed'][0]} failed")
    chosen = winner["chosen"]
    again = select(run, trial_runs(run), results).get("chosen")
    if again is None or chosen != again:
        raise FedbenchError(
            f"{file}: says {chosen}, but by its trials the winner is {again}; delete the file to "
            "have the winner chosen again"
        )
    return run.changed(tune=None, **again)


def _winner(file: Path) -> Winner:
    if not exists(file):
        raise FedbenchError(f"{file}: is missing; the same command of Snakemake chooses a winner")
    try:
        winner = read_json(file)
    except FedbenchError as error:
        raise FedbenchError(f"{error}; delete it to have the winner chosen again") from None
    if not (winner.get("failed") or isinstance(winner.get("chosen"), dict)):
        raise FedbenchError(f"{file}: names no winner of a search; delete it to have one chosen")
    return winner


def as_trained(file: Settings, resolved: Settings) -> tuple[Settings, dict[str, str]]:
    """The settings in a run's file with what its search chose, and by name a remark on the latter.

    file, resolved: `settings` and `resolved` of its `run.json`. A remark says 'chosen by the
    search; 0.03 in the file'. A parameter of a part has a line of its own, as `fedprox.mu`.
    """
    used, remarks = dict(file), {}
    for key in (file.get("tune") or {}).get("grid", ()):
        said, used[key] = _value(file, key), _value(resolved, key)
        there = ", as in the file" if said == used[key] else f"; {level_text(said)} in the file"
        remarks[key] = f"chosen by the search{there}"
    if "parts" in file and remarks:  # without a search they may be objects, which have no name
        used["parts"] = [_with(checked(Choice, part), used) for part in file["parts"]]
    return used, remarks


def _value(settings: Settings, key: str) -> Any:
    """A field, or a parameter of a part as `part.parameter`; the default where it is not given."""
    name, _, parameter = key.partition(".")
    if not parameter:
        return settings.get(name, RunSpec.model_fields[name].default)
    parts = [checked(Choice, part) for part in settings.get("parts", ())]
    given = next((part.params for part in parts if part.name == name), {})
    return given.get(parameter, registry.find("method", name).fields.get(parameter))


def _with(part: Choice, used: Settings) -> Any:
    """The part as YAML has it, with the values of its parameters that have a line."""
    chosen = {k.partition(".")[2]: v for k, v in used.items() if k.startswith(f"{part.name}.")}
    params = {**part.params, **chosen}
    return {part.name: params} if params else part.name

"""Searches of settings: their trials, which settings they choose, what a run was trained with."""

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fedbench.base import registry
from fedbench.base.checks import checked
from fedbench.base.checksums import digest
from fedbench.base.errors import FedbenchError, failing
from fedbench.base.files import exists, read_json
from fedbench.paper.axis_levels import Settings, assigned, given
from fedbench.paper.history_metrics import values, with_derived
from fedbench.paper.metrics import Metric, scored
from fedbench.paper.yaml_notation import level_text
from fedbench.plan.data_checks import complete, has_failed, same_data
from fedbench.spec import Choice, RunSpec, Tune
from fedbench.spec.fields import WORDS
from fedbench.spec.run import name_of
from fedbench.store import Results, RunFolder
from fedbench.store.parquet_frames import in_pandas, stacked, with_columns
from fedbench.store.run import is_as_written, with_checksum

_DATA = {"held-out": "held-out training data", "test": "the test set"}
_SCORES = {"final": "the last accuracy", "mean": "the mean accuracy", "best": "the best accuracy"}


def points(tune: Tune) -> list[dict[str, Any]]:
    """Every combination of the grid's values, in order; the last field changes first."""
    return [dict(zip(tune.grid, v, strict=True)) for v in itertools.product(*tune.grid.values())]


def search_id(run: RunSpec) -> str:
    """The identity of a run's search: its trials' settings, the grid and the rule, but no seed."""
    tune = run.tune and run.tune.model_copy(update={"trials": {}, "rank": 0, "times": {}})
    return digest(run.trial().model_copy(update={"tune": tune, "seed": 0}).settings())


def trial_runs(run: RunSpec) -> list[RunSpec]:
    """The trials of a run's search, seed by seed: of each setting that it tries; none without one.

    Settings that an earlier stage chooses are those of runs that have that stage as their search.
    """
    tune = run.tune
    if tune is None:
        return []
    trial = run.trial()
    held_out = {"validation": tune.share} if tune.on == "held-out" else {}
    tried = points(tune)
    if first := tune.first:
        short = {"first": None, "seeds": first.seeds, "trials": {"rounds": first.rounds}}
        tried = [_chosen_by(tune, **short, rank=n) for n in range(first.keep)]
    for key, factor in tune.around.items():
        for value in choices(tune)[key]:
            trial.changed(**{key: value})  # is refused here, if ever
        tried += [_chosen_by(tune, rank=0, times={key: x}) for x in (1 / factor, factor)]
    of_seed = [trial.changed(seed=tune.seeds[0], **held_out, **point) for point in tried]
    return [x.model_copy(update={"seed": seed}) for seed in tune.seeds for x in of_seed]


def choices(tune: Tune) -> dict[str, list[Any]]:
    """The values that a search may choose, by field: the grid's, and those of its finer steps."""
    steps: dict[str, tuple[float, ...]] = {k: (1 / x, x) for k, x in tune.around.items()}
    steps |= {k: (x,) for k, x in tune.times.items()}
    return {
        key: [*values, *(_times(x, factor) for factor in steps.get(key, ()) for x in values)]
        for key, values in tune.grid.items()
    }


def _chosen_by(tune: Tune, **stage: Any) -> dict[str, Any]:
    return {"tune": tune.model_copy(update={"around": {}, "times": {}, **stage})}


def _times(number: Any, factor: float) -> float:
    return float(f"{number * factor:.3g}")


def words(run: RunSpec) -> str:
    """In words: 'the best of 4 by the last accuracy on the test set, trials over 50 rounds'."""
    tune, trial = run.tune, run.trial()
    if tune is None:
        return ""
    score = _SCORES.get(tune.by) or Metric(tune.by).label.lower()
    tried = f"{score} on {_DATA[tune.on]}"
    method = name_of(trial) or " + ".join(map(str, trial.parts))
    told = [f"of {method}"] if trial.parts != run.parts else []
    if first := tune.first:
        told += [f"over {first.rounds} rounds, then of the best {first.keep}"]
    told += [f"over {trial.rounds} rounds"] if first or trial.rounds != run.rounds else []
    told += [f"then with {key} ×÷ {factor:g}" for key, factor in tune.around.items()]
    trials = f", trials {' '.join(told)}" if told else ""
    return f"the best of {len(points(tune))} by {tried}{trials}"


Winner = dict[str, Any]
RECORDS = "records"  # the field of a winner's file for what the trials' records were
Ended = tuple[RunSpec, RunFolder, dict[str, Any]]  # a trial, its folder and its record


def select(run: RunSpec, results: Path, known: dict[str, Winner] | None = None) -> Winner:
    """The settings with the highest score, a mean over the trials' seeds; the first of equal ones.

    Settings of which a trial diverged are chosen only if one of every setting did. Where trials
    failed there is no fair choice, and these alone are returned, under `failed`. known: winners by
    their searches' ids, to which those of earlier stages are added.
    """
    tune, trials = run.tune, trial_runs(run)
    if tune is None:
        raise FedbenchError(f"run {run.id} has no search")
    ids = [trial.id for trial in trials]
    if failed := [one for one in ids if has_failed(one, results)]:
        return {"failed": failed}
    ended = [(trial, *complete(one, results)) for trial, one in zip(trials, ids, strict=True)]
    same_data([(trial, record) for trial, _, record in ended], results)
    of_seed = trials[: len(trials) // len(tune.seeds)]
    tried = _settings(of_seed, points(tune), results, {} if known is None else known)
    of_trials, sound = _scores(ended, tune), [x["status"] != "diverged" for _, _, x in ended]
    places, count = range(len(tried)), len(tried)
    scores = [sum(of_trials[n::count]) / len(tune.seeds) for n in places]
    whole = [all(sound[n::count]) for n in places]
    if not any(map(math.isfinite, scores)):
        lacks = f"its search chooses by {tune.by}, and no trial has it"
        raise FedbenchError(f"{lacks}; change tune.by, or give the trials more rounds")
    lower = Metric(scored(tune)).lower_is_better
    sign = -1 if lower else 1  # no score, or an infinite one, is the worst of all
    ranks = [sign * score if math.isfinite(score) else -math.inf for score in scores]
    order = sorted(places, key=lambda i: (whole[i], ranks[i]), reverse=True)
    told = [score if math.isfinite(score) else None for score in scores]
    return {
        "chosen": tried[order[0]],
        "on": tune.on,
        "by": tune.by,
        "parts": [str(part) for part in run.trial().parts],
        "trials": [{**x, "score": score} for x, score in zip(tried, told, strict=True)],
        "order": order,  # places in `trials`, the best first
        "runs": ids,
        "on_edge": _on_edge(tried[order[0]], tune, tried),
    }


def signed(winner: Winner, results: Path) -> Winner:
    """The winner as it is written: with a checksum of its trials' records, and one of all."""
    versions = [Results(results).run(run_id).version() for run_id in winner.get("runs", ())]
    return with_checksum({**winner, RECORDS: digest(versions)})


def is_as_chosen(winner: Winner, results: Path) -> bool:
    """Whether it was not changed since it was written, nor a trial trained anew."""
    return is_as_written(winner) and winner == signed(winner, results)


def _settings(
    trials: list[RunSpec], grid: list[Settings], results: Path, known: dict[str, Winner]
) -> list[Settings]:
    """What trials of one seed try: points of the grid, or what an earlier stage chose."""
    searches = [search_id(trial) if trial.tune else "" for trial in trials]
    for search, trial in {k: trial for k, trial in zip(searches, trials, strict=True) if k}.items():
        known[search] = known.get(search) or select(trial, results, known)
        if failed := known[search].get("failed"):
            raise FedbenchError(f"an earlier stage has no winner, as its trial {failed[0]} failed")
    return [
        ranked(known[searches[n]], trial.tune) if trial.tune else grid[n]
        for n, trial in enumerate(trials)
    ]


def ranked(winner: Winner, tune: Tune) -> dict[str, Any]:
    """The settings of the search's rank, where 0 is what was chosen, multiplied by its `times`."""
    best = winner["trials"][winner["order"][tune.rank]].items()
    times = tune.times
    return {k: _times(v, times[k]) if k in times else v for k, v in best if k != "score"}


def _scores(ended: Sequence[Ended], tune: Tune) -> list[float]:
    """The trials' scores by the search's rule; infinite where one did not reach a target."""
    by_curve, asked = tune.by in WORDS, scored(tune)
    asked = asked.partition("@")[0] if by_curve else asked
    found, scores = {} if by_curve else _by_metric(ended, asked), []
    for trial, folder, record in ended:
        lost = record["status"] == "diverged"
        if by_curve:
            curve = folder.history(record).set_index("round").get(asked, pd.Series()).dropna()
            score = _of_curve(curve, tune.by, trial if lost else None) if len(curve) else None
        else:
            score = found.get(record["id"])
        if score is None and not lost:
            lacks = f"{folder.path}: has no '{asked}', by which its search chooses"
            raise FedbenchError(f"{lacks}; a search needs data with classes and finished trials")
        scores.append((0.0 if by_curve else math.nan) if score is None else score)
    return scores


def _by_metric(ended: Sequence[Ended], asked: str) -> dict[str, float]:
    """The metric of each trial, by its id, from all their histories at once."""
    histories = [
        with_columns(
            folder.rounds(record),
            **{"run_id": record["id"], "status": record["status"]},
            **{"rounds": trial.rounds, "eval_every": trial.eval_every},
        )
        for trial, folder, record in ended
    ]
    return values(with_derived(in_pandas(stacked(histories))), asked, "final")


def _of_curve(curve: pd.Series, by: str, diverged: RunSpec | None) -> float:
    """The last accuracy of a curve by rounds, its best, or the mean over all evaluations."""
    last = float(curve.iloc[-1])
    if by == "final":
        return last
    if by == "best":
        return float(curve.max())
    missing = 0
    if diverged:  # the model does not change any more: what was not evaluated counts as the last
        every, reached = diverged.eval_every, int(curve.index[-1])
        missing = math.ceil(diverged.rounds / every) - math.ceil(reached / every)
    return (float(curve.sum()) + missing * last) / (len(curve) + missing)


def _on_edge(point: Settings, tune: Tune, tried: list[Settings]) -> list[str]:
    """Fields whose chosen number is the smallest or largest of three or more tried."""
    all_tried = {k: {*values, *(x[k] for x in tried)} for k, values in tune.grid.items()}
    numeric = {k: v for k, v in all_tried.items() if all(isinstance(x, int | float) for x in v)}
    return [k for k, v in numeric.items() if len(v) > 2 and point[k] in (min(v), max(v))]


def resolved(run: RunSpec, results: Path) -> RunSpec:
    """The run with what its search, if any, chose; `FedbenchError` if trials choose otherwise."""
    if run.tune is None:
        return run
    file = Results(results).winner(search_id(run))
    if not exists(file):
        raise FedbenchError(f"{file}: is missing; the same command of Snakemake chooses a winner")
    again = "delete it to have the winner chosen again"
    with failing(f"{file}: names no winner", again, (FedbenchError,)):
        winner = read_json(file)
    if winner.get("failed"):
        raise FedbenchError(f"its search has no winner, as its trial {winner['failed'][0]} failed")
    found = winner if is_as_chosen(winner, results) else select(run, results)
    chosen, best = winner.get("chosen"), found.get("chosen")
    if best is None or chosen != best:
        told = f"says {chosen}, but by its trials the winner is {best}"
        raise FedbenchError(f"{file}: {told}; {again}")
    return run.changed(tune=None, **ranked(found, run.tune))


def as_trained(file: Settings, resolved: Settings) -> tuple[Settings, dict[str, str]]:
    """The settings in a run's file with what its search chose, and by name a remark on the latter.

    file, resolved: `settings` and `resolved` of its `run.json`.
    """
    used, remarks = dict(file), {}
    for key in (file.get("tune") or {}).get("grid", ()):
        said, used[key] = value_of(file, key), value_of(resolved, key)
        there = ", as in the file" if said == used[key] else f"; {level_text(said)} in the file"
        remarks[key] = f"chosen by the search{there}"
    if "parts" in file and remarks:  # without a search they may be objects, which have no name
        chosen = assigned(file, [(key, used[key]) for key in remarks if "." in key])
        used["parts"] = [checked(Choice, part).model_dump() for part in chosen["parts"]]
    return used, remarks


def value_of(settings: Settings, key: str) -> Any:
    """A field, or a parameter of a part as `part.parameter`; the default where it is not given."""
    name, _, parameter = key.partition(".")
    if parameter:
        usual = registry.find("method", name).fields.get(parameter)
    else:
        usual = RunSpec.model_fields[name].default
    return next(iter(given(settings, key)), usual)

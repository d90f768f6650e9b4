"""The trials of a search: the runs that try its grid, and what the search is called."""

import itertools
from typing import Any

from fedbench.spec import RunSpec, Tune, digest

_DATA = {"held-out": "held-out training data", "test": "the test set"}
_SCORES = {"final": "the last", "mean": "the mean", "best": "the best"}


def points(tune: Tune) -> list[dict[str, Any]]:
    """Every combination of the grid's values, the last field fastest."""
    return [dict(zip(tune.grid, v, strict=True)) for v in itertools.product(*tune.grid.values())]


def search_id(run: RunSpec) -> str:
    """The identity of a run's search: its trials' settings, the grid and the rule, but no seed.

    Seeds share a winner, and so does a method whose search makes another method's trials.
    """
    tune = run.tune and run.tune.model_copy(update={"trials": {}})
    return digest(run.trial().changed(tune=tune, seed=0, data_seed=None).settings())


def trial_runs(run: RunSpec) -> list[RunSpec]:
    """The runs of a search: every combination of its grid, with the search's own seeds."""
    tune = run.tune
    if tune is None:
        return []
    trial = run.trial()
    held_out = {"validation": tune.share} if tune.on == "held-out" else {}
    return [
        trial.changed(seed=seed, data_seed=None, **held_out, **point)
        for seed in tune.seeds
        for point in points(tune)
    ]


def words(run: RunSpec) -> str:
    """A run's search for a reader: 'the best of 4 by the last accuracy on the test set'."""
    tune = run.tune
    if tune is None:
        return ""
    tried = f"{_SCORES[tune.by]} accuracy on {_DATA[tune.on]}"
    of = " + ".join(map(str, run.trial().parts)) or "FedAvg"
    return f"the best of {len(points(tune))} by {tried}" + (f", trials of {of}" * bool(tune.trials))

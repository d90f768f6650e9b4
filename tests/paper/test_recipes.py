"""Every recipe of every paper, as printed, trains two rounds of narrowed models on made-up data.

A recipe is what the settings of a run say without their numbers: methods, model family, optimiser,
augmentation, probes and so on. All come from the papers' plans; the rules of division, which are
tested on their own, are left out.
"""

import functools
import json
from collections import defaultdict

import numpy as np
import pytest

from fedbench import Dataset, run
from fedbench.base import registry
from fedbench.spec import Choice
from tests.paper import published

CLASSES, TOKENS, WORDS, SIDE = 4, 12, 50, 16
WORK = {
    "clients": 4, "participation": 0.5, "rounds": 2, "eval_every": 1, "batch": 4, "seed": 0,
    "partition": {"iid": {"stratified": True}}, "data_seed": None, "tune": None,
}  # fmt: skip
# Parameters that cost time and memory, by kind and name
SMALL = {
    "model": {
        "width": 0.125, "side": SIDE, "blocks": 1, "groups": 4, "layers": 1, "heads": 2, "dim": 16,
        "hidden": 16, "positions": TOKENS, "patch": 8, "bottleneck": 8, "weights": "random",
    },
    "method": {"N": 2, "hidden": 8, "noise": 4},
    "probe": {
        "samples": 4, "perplexity": 3.0, "grid": 4, "probes": 2, "steps": 4, "points": 16,
        "iterations": 4, "every": 1, "at": 2,
    },
}  # fmt: skip
STAGES = 0.25  # of the blocks of a model whose depth is a factor


def small(kind, choice):
    """The choice with all its parameters, and with those that make it large set to little."""
    fields = registry.find(kind, choice.name).fields
    less = {k: v for k, v in SMALL[kind].items() if k in fields}
    less |= {"depth": STAGES} if isinstance(fields.get("depth"), float) else {}
    return Choice(name=choice.name, params=fields | choice.params | less)


def narrowed(spec):
    """The run with the same recipe and next to no work."""
    work = WORK | {"validation": 0.3 if spec.validation else 0.0}
    work |= {"steps": 2, "epochs": None} if spec.steps else {"epochs": 1}
    return spec.changed(
        **work,
        model=small("model", spec.model),
        parts=[small("method", part) for part in spec.parts],
        watch=[small("probe", probe) for probe in spec.watch],
    )


def recipe(value):
    """Settings without their numbers; 0 stays, since it switches things off."""
    if isinstance(value, dict):
        return {k: recipe(v) for k, v in value.items()}
    if isinstance(value, list):
        return [recipe(v) for v in value]
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return "number" if number and value else value


def same_shape(specs):
    """Of runs with the same recipe, whatever `narrowed` will set, the one with the lowest rate."""
    one = {}
    for spec in sorted(specs, key=lambda run: run.lr, reverse=True):
        plain = spec.model_dump(mode="json", exclude=WORK.keys())
        one[json.dumps(recipe(plain), sort_keys=True)] = spec
    return one.values()


@functools.cache
def recipes():
    """By model, the narrowed run with the lowest rate of each recipe of the plan."""
    by_model = defaultdict(list)
    few = same_shape(published.plan().runs.values())  # first, as narrowing thousands takes long
    for spec in same_shape(map(narrowed, few)):
        by_model[spec.model.name].append(spec)
    return by_model


@functools.cache
def made_up(name):
    """Random samples of the data set's shape, no side larger than `SIDE`; every class alike."""
    rng, constants = np.random.default_rng(0), registry.find("dataset", name).constants
    y = np.arange(48) % CLASSES
    shape = constants.get("SHAPE")
    if shape is None:
        x = rng.integers(1, WORDS, size=(48, TOKENS))
    elif len(shape) == 1:
        x = rng.normal(size=(48, *shape))
    else:
        x = rng.integers(
            256, size=(48, *(min(n, SIDE) for n in shape[1:]), shape[0]), dtype=np.uint8
        )
    words = {} if shape else {"vocabulary": WORDS}
    return Dataset(name, x[:32], y[:32], x[32:], y[32:], CLASSES, **words)


def trained(spec, machine):
    """What went wrong, in words; empty if the run ended well."""
    place = f"{spec.dataset}, {spec.model.name}, {spec.settings()}"
    try:
        result = run(spec, machine=machine, data=made_up(spec.dataset.name))
    except Exception as error:  # whatever it was, the other recipes are tried
        return f"{place}: {type(error).__name__}: {error}"
    losses = result.history.filter(like="loss")
    fine = result.status == "finished" and np.isfinite(losses).to_numpy().all()
    return "" if fine else f"{place}: {result.status}, losses {losses.to_numpy().tolist()}"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", registry.entries("model"))
def test_every_recipe_of_the_papers_trains(cpu, model):
    wrong = [text for spec in recipes()[model] if (text := trained(spec, cpu))]
    assert not wrong, f"{len(wrong)} of {len(recipes()[model])} recipes:\n" + "\n".join(wrong)


def test_every_run_as_printed_has_a_recipe_of_its_model():
    models = {run.model.name for run in published.plan().runs.values()}
    assert models == {model for model, specs in recipes().items() if specs}

"""What the test file of a method tells the tests that try every method.

`tests/methods/test_<name>.py` declares

EXTRA    list of parameters that deserve a run of their own, beside the defaults
NEUTRAL  list of parameters at which the method is FedAvg, bit for bit; {} stands for the defaults
NEEDS    settings of a run without which the method cannot train (optional)
UNCOUNTED  which of its passes, forward and backward, are not compared with what is counted, each
         with the reason (optional)
QUICK    parameters with which it is quick, and strong enough to be noticed, when the tests only try
         it beside other methods (optional; else its defaults)

EXTRA and NEUTRAL are asked for even where they are empty, so that a misspelt one is noticed.
"""

import difflib
import functools
import importlib
import importlib.util

from fedbench import FedbenchError, RunSpec
from fedbench.base import registry

METHODS = sorted(registry.entries("method"))
KINDS = {"EXTRA": list, "NEUTRAL": list, "NEEDS": dict, "QUICK": dict, "UNCOUNTED": dict}
REQUIRED = ("EXTRA", "NEUTRAL")


@functools.cache
def declared(name, what):
    """What the test file of a method says under one of these names; empty if it says nothing."""
    where = f"tests.methods.test_{name}"
    if importlib.util.find_spec(where) is None:
        return KINDS[what]()
    return getattr(importlib.import_module(where), what, KINDS[what]())


def mistakes(name):
    """What is wrong with the declarations of a method's test file, one sentence each."""
    where = f"tests.methods.test_{name}"
    if importlib.util.find_spec(where) is None:
        return [f"method '{name}' has no test file tests/methods/test_{name}.py"]
    given = {k: v for k, v in vars(importlib.import_module(where)).items() if k.isupper()}
    wrong = [f"{where}: {what} is missing" for what in REQUIRED if what not in given]
    for word in given.keys() - KINDS.keys():
        near = difflib.get_close_matches(word, KINDS, n=1, cutoff=0.75)
        wrong += [f"{where}: '{word}' is read by no test; did you mean {near[0]}?"] if near else []
    for what in given.keys() & KINDS.keys():
        wrong += _unfit(name, what, given[what])
    return wrong


def _unfit(name, what, value):
    if not isinstance(value, KINDS[what]):
        return [f"test_{name}: {what} must be a {KINDS[what].__name__}"]
    try:
        if what == "UNCOUNTED" and not value.keys() <= {"forward", "backward"}:
            return [f"test_{name}: {what}: its keys can be forward and backward"]
        if what == "NEEDS":
            RunSpec(**value)
        for params in value if what in REQUIRED else [value] * (what == "QUICK"):
            registry.build("method", name, params)
    except FedbenchError as error:
        return [f"test_{name}: {what}: {error}"]
    return []

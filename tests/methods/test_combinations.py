"""Which parts stand side by side: every pair either trains or is refused with a reason."""

import functools
import itertools
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import nn

from fedbench import Dataset, FedbenchError, Machine, Part, RunSpec, run
from fedbench.base import registry
from fedbench.core.part import GLOBAL_MOMENTUM, LOCAL_MOMENTUM, STEP_LENGTH
from fedbench.core.part_conflicts import refuse_conflicts
from fedbench.data.partition import hold_out
from fedbench.engine.assemble import assemble, check_choices
from fedbench.engine.training import Training
from fedbench.methods.fedadam import FedAdam
from fedbench.methods.fedadc import FedADC
from fedbench.methods.fedcm import FedCM
from fedbench.methods.fedvarp import FedVARP
from fedbench.methods.scaffold import Scaffold
from fedbench.methods.slowmo import SlowMo
from fedbench.methods.twosided import TwoSided
from fedbench.models.architecture import BodyHead
from tests.methods.one_weight import close, final, train
from tests.methods.protocol import METHODS, declared

CPU = Machine(device="cpu", workers=1)


@functools.cache
def part(name):
    return registry.build("method", name, declared(name, "QUICK"))


def leaves_training_alone(name):
    """Whether a method, as it is tried here, only scores other models than FedAvg does."""
    return declared(name, "QUICK") in declared(name, "NEUTRAL")


def refusal(*names):
    """Why these parts cannot stand in this order; empty if they can."""
    try:
        refuse_conflicts([part(name) for name in names])
    except FedbenchError as error:
        return str(error)
    return ""


@functools.cache
def tiny():
    """Four clients of 2 to 5 samples and 1 or 2 of 3 classes, two of which train a round.

    One of those of the first round trains in the second too, from what it has stored.
    """
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 3)), np.arange(20) // 7
    spec = RunSpec(
        **{"clients": 4, "participation": 0.5, "rounds": 2, "batch": 3, "lr": 0.2},
        **{"validation": 0.3, "projection": 2, "precision": "float64", "eval_every": 2},
    )
    data = Dataset("tiny", x, y, x, y, 3)
    rows = np.split(hold_out(data, spec.validation, spec.partition_seed)[0], [2, 5, 9])
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = BodyHead(nn.Sequential(nn.Linear(3, 2), nn.Tanh()), nn.Linear(2, 3))
    return assemble(spec, {"data": data, "model": model, "partition": rows, "parts": ()}, CPU, None)


@functools.cache
def trained(*names):
    """The weights after two rounds, checked to be numbers, like everything that is scored."""
    problem = tiny()
    task = replace(problem.task, parts=tuple(part(name) for name in names))
    seen = []
    engine = Training(replace(problem, task=task), CPU, watch=seen.append)
    for _ in range(2):
        engine.round()
    assert not engine.progress.diverged
    values = [v for row in seen for k, v in row.items() if k.startswith(("loss", "accuracy"))]
    assert np.isfinite(values).all()
    return engine.progress.global_model.w


@pytest.mark.parametrize("first", METHODS)
def test_every_pair_trains_or_is_refused_with_a_reason(first):
    for second in METHODS:
        if second == first:
            assert "is listed twice" in refusal(first, first)
            continue
        reason = refusal(first, second)
        if reason:
            assert f"'{first}'" in reason
            assert f"'{second}'" in reason
            assert len(reason.partition(": ")[2].partition(": ")[2]) > 20, reason
            continue
        w = trained(first, second)
        assert w.isfinite().all()
        # neither silences the other
        for name, other in ((first, second), (second, first)):
            if not leaves_training_alone(name):
                assert not torch.equal(w, trained(other)), f"{name} does nothing beside {other}"


def test_a_pair_that_is_refused_has_no_order_or_one():
    for a, b in itertools.combinations(METHODS, 2):
        both = refusal(a, b), refusal(b, a)
        if "cannot stand beside" in "".join(both):
            assert all("cannot stand beside" in text for text in both), (a, b)
        else:
            assert "" in both, (a, b)


MOMENTA = ("fedacg", "fedadagrad", "fedadam", "fedadc", "fedadcdouble", "feddpc", "slowmo")
EXPECTED = [
    ("fedntd", "asd", "write asd: {divergence: ntd} alone"),
    ("feddyn", "fedspeed", "both add the clients' duals"),
    ("fedga", "fedgaonetrip", "same method"),
    ("fedgkd", "fedgkdvote", "both distil from the newest global models"),
    ("fedsam", "fedspeed", "set its rho"),
    ("feddpc", "fedvarp", "their order would change the result"),
    ("fedexp", "fedvarp", "not the mean of the updates"),
    ("scaffold", "mfl", "takes D_i/(η ‖a_i‖₁) for a mean gradient with option II, and MFL changes"),
    *((a, b, "SGD's steps") for a in ("scaffold", "fednova") for b in ("rmfl", "fedadc")),
    *(("fedgaonetrip", b, "SGD's steps") for b in ("mfl", "fedadcdouble")),
    *((a, b, "start elsewhere") for a in ("scaffold", "fedcm") for b in ("fedinit", "fedga")),
    *((a, "fedgaonetrip", "start elsewhere") for a in ("fedbn", "fedinit", "fednova")),
    ("mfl", "rmfl", LOCAL_MOMENTUM),
    ("fedcm", "mfl", LOCAL_MOMENTUM),
    ("fedexp", "fedadam", STEP_LENGTH),
    *((a, b, "") for a, b in itertools.combinations((*MOMENTA, "fedyogi"), 2)),
]


@pytest.mark.parametrize(("a", "b", "words"), EXPECTED)
def test_meaningless_pairs_are_refused_in_either_order(a, b, words):
    for names in ((a, b), (b, a)):
        assert words in refusal(*names)
        assert "cannot stand beside" in refusal(*names)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("fednova", "fedexp"),
        ("fedexp", "slowmo"),
        ("fedexp", "twosided"),
        ("fedexp", "feddyn"),
        ("twosided", "fedacg"),
        ("feddf", "fedacg"),
        *(("fedvarp", each) for each in ("fedadagrad", "fedadam", "fedadc", "fedadcdouble")),
        *(("fedvarp", each) for each in ("fedcm", "feddf", "fedyogi", "scaffold")),
        *(("fedvarp", each) for each in ("slowmo", "twosided")),
    ],
)
def test_some_pairs_have_one_order(first, then):
    assert refusal(first, then) == ""
    assert f"'{then}' must stand after '{first}': " in refusal(then, first)


@pytest.mark.parametrize(
    "stepping",
    [SlowMo(), TwoSided(2.0), FedAdam(), FedADC(), FedCM(gamma_s=2.0), Scaffold(eta_g=2.0)],
)
def test_where_all_take_part_a_method_after_fedvarp_is_that_method(stepping):
    # FedVARP is FedAvg then. Before it, SlowMo would have added up mean(D − Y), without Ȳ.
    clients = [[1.0], [3.0], [8.0]]
    settings = {"rounds": 4, "lr": 0.1, "precision": "float64"}
    found = final(train(clients, parts=[FedVARP(), stepping], **settings))
    assert close(found, final(train(clients, parts=[stepping], **settings)))


@pytest.mark.parametrize(
    "names",
    [
        ("fedadc", "selfconfidence"),
        ("feddyn", "asd"),
        ("fedspeed", "asd"),
        ("fedsam", "asd"),
        ("feddisco", "asd"),
        ("fedprox", "asd"),
        ("meanofall", "feddyn", "asd"),
        ("scaffold", "slowmo"),
        ("fedcm", "slowmo"),
        ("fedvarp", "fedprox", "fedrs", "fedgen"),
        ("feddisco", "fednova", "fedexp", "slowmo", "moon", "meanofall"),
    ],
)
def test_what_the_papers_combine_and_more_goes_together(names):
    assert trained(*names).isfinite().all()


def test_runs_and_plans_are_refused_with_the_reason(refuses):
    spec = RunSpec(parts=["fedntd", "asd"])
    for refuse in (lambda: run(spec, machine=CPU), lambda: check_choices([("here", spec)])):
        with refuses("'fedntd' cannot stand beside 'asd'"):
            refuse()


class Stepping(Part):
    """Has a hook, without which a part is refused."""

    def step(self, d, r):
        return d


@dataclass(frozen=True)
class Slow(Stepping):
    decides: ClassVar[tuple[str, ...]] = (GLOBAL_MOMENTUM, "the colour")


@dataclass(frozen=True)
class Red(Stepping):
    decides: ClassVar[tuple[str, ...]] = ("the colour",)
    follows: ClassVar[dict[str, str]] = {"last": "red is seen last"}


@dataclass(frozen=True)
class First(Stepping):
    precedes: ClassVar[dict[str, str]] = {"slow": "first comes first"}


@dataclass(frozen=True)
class Last(Stepping):
    excludes: ClassVar[dict[str, str]] = {"slow": "it must be quick"}


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ((Slow(), Red()), "'red' cannot stand beside 'slow': both decide the colour"),
        ((Last(), Slow()), "'last' cannot stand beside 'slow': it must be quick"),
        ((Slow(), Last()), "'last' cannot stand beside 'slow': it must be quick"),
        ((Red(), Last()), "'red' must stand after 'last': red is seen last"),
        ((Slow(), First()), "'slow' must stand after 'first': first comes first"),
        ((Red(), Red()), "'red' is listed twice"),
    ],
)
def test_refusals_by_hand(refuses, parts, words):
    with refuses(words):
        refuse_conflicts(parts)


def test_what_is_not_refused():
    refuse_conflicts(())
    refuse_conflicts((Last(), Red()))
    refuse_conflicts((First(), Slow()))

"""Which local optimisers a method's formulas hold for: it trains with these, others are refused."""

import inspect
import re
from dataclasses import dataclass

import pytest
import torch

from fedbench import FedbenchError, Machine, Part, RunSpec, run
from fedbench.base import registry
from fedbench.core.part_conflicts import holds_for, refuse_conflicts
from fedbench.engine.assemble import check_choices
from tests.few import few_digits
from tests.methods.one_weight import MOMENTUM, NESTEROV, close, train
from tests.methods.protocol import METHODS, declared
from tests.methods.recording import progress

CPU = Machine(device="cpu", workers=1)
ADAM = {"optimizer": "adam", "lr": 0.001}
SGD_ALONE = {"fedcm", "fedgaonetrip", "fednova", "scaffold"}
NO_MOMENTUM = {"fedadcdouble", "mfl", "mimelite", "rmfl"}
MEAN = "takes D_i/(η ‖a_i‖₁) for a mean gradient"


def test_what_the_methods_say():
    said = {name: holds_for([registry.build("method", name, {})]) for name in METHODS}
    assert {name for name, words in said.items() if words == "SGD"} == SGD_ALONE
    assert {name for name, words in said.items() if words == "SGD without momentum"} == NO_MOMENTUM
    assert {said[name] for name in {*METHODS} - SGD_ALONE - NO_MOMENTUM} == {"any"}


@pytest.mark.parametrize("name", METHODS)
def test_who_reads_effective_steps_says_that_it_needs_sgd(name):
    cls = registry.find("method", name).load()
    reads = "effective_steps" in inspect.getsource(cls)
    assert reads == ("needs_sgd" in vars(cls))
    # and what clients move is divided by no other number of steps
    assert not any(text in inspect.getsource(cls) for text in ("r.steps", "/ (t.H", "t.H *"))


@pytest.mark.parametrize("name", METHODS)
def test_a_method_trains_with_the_optimisers_that_it_holds_for(name):
    part = registry.build("method", name, declared(name, "QUICK"))
    said = holds_for([part])
    needs = {k: v for k, v in declared(name, "NEEDS").items() if k != "momentum"}
    base = {"clients": 4, "rounds": 2, "batch": 20, "model": {"mlp": {"hidden": 4}}, **needs}
    for local in (MOMENTUM, NESTEROV, ADAM):
        spec = RunSpec(**{**base, "lr": 0.01, **local})
        if said == "SGD without momentum" or (said == "SGD" and local is ADAM):
            with pytest.raises(FedbenchError, match=r"set (momentum to 0|optimizer to sgd)$"):
                run(spec, machine=CPU, data=few_digits(), parts=(part,))
        else:
            result = run(spec, machine=CPU, data=few_digits(), parts=(part,))
            assert result.status == "finished"


REFUSED = [
    ("mfl", {"momentum": 0.9}, "momentum = 0.9: MFL has its own momentum; set momentum to 0"),
    ("mimelite", {"momentum": 0.9}, "momentum = 0.9: MimeLite has its own momentum; set"),
    ("fedadcdouble", NESTEROV, "momentum = 0.5: FedADCDouble has its own momentum; set"),
    ("rmfl", ADAM, "optimizer = adam: RMFL has its own momentum, which goes with the steps of SGD"),
    (
        "scaffold",
        ADAM,
        f"optimizer = adam: Scaffold {MEAN} with option II, and Adam's steps are no",
    ),
    ("fednova", ADAM, "optimizer = adam: FedNova divides D_i by ‖a_i‖₁, and Adam's steps are no"),
    ("fedcm", ADAM, f"FedCM {MEAN}, and Adam's steps are no weighted sum of gradients; set opt"),
    ("fedgaonetrip", ADAM, f"FedGAOneTrip {MEAN}, and Adam's"),
    ({"fedvarp": {"normalise": True}}, ADAM, f"FedVARP {MEAN} with normalise = true, and Adam's"),
    ({"fednova": {"rho": 0.9}}, {}, "FedNova: rho = 0.9 contradicts momentum = 0.0 of the run"),
]


@pytest.mark.parametrize(("part", "local", "words"), REFUSED, ids=str)
def test_runs_and_plans_are_refused_with_the_reason(refuses, part, local, words):
    spec = RunSpec(parts=[part], **local)
    for refuse in (lambda: run(spec, machine=CPU), lambda: check_choices([("here", spec)])):
        with refuses(re.escape(words)):
            refuse()


@pytest.mark.parametrize("part", [{"scaffold": {"option": "I"}}, "fedvarp", "slowmo", "feddyn"])
def test_with_adam_what_divides_by_no_steps_trains(part):
    spec = RunSpec(parts=[part], rounds=2, clients=4, **ADAM)
    assert run(spec, machine=CPU, data=few_digits()).status == "finished"


@dataclass(frozen=True)
class Unsaid(Part):
    """Divides by effective steps, and does not say so."""

    def end(self, delta, t):
        t.upload["a"] = torch.tensor(t.effective_steps)
        return delta


@dataclass(frozen=True)
class Said(Unsaid):
    """Says so."""

    @property
    def needs_sgd(self):
        return "counts steps"


@dataclass(frozen=True)
class Slower(Part):
    """Halves the steps of the optimiser."""

    def move(self, step, w, t):
        return step / 2


def test_a_part_of_ones_own_with_adam(refuses):
    with refuses("a part of the method reads effective_steps, but Adam's steps are no"):
        train([[0.0]], parts=[Unsaid()], optimizer="adam")
    with refuses("optimizer = adam: Said counts steps, and Adam's steps are no weighted sum"):
        train([[0.0]], parts=[Said()], optimizer="adam")
    with refuses(
        "'said' cannot stand beside 'slower': Said counts steps, and Slower changes SGD's"
    ):
        refuse_conflicts([Slower(), Said()])


def test_turn_and_round_have_each_clients_number():
    seen = []

    @dataclass(frozen=True)
    class Counts(Said):
        def step(self, d, r):
            seen.append((r.effective_steps, torch.stack([up["a"] for up in r.uploads]), r.steps))
            return d

    for local, wanted in (({}, (3, 1)), (MOMENTUM, (4.25, 1)), (NESTEROV, (5.125, 1.5))):
        progress([[0.0] * 3, [4.0]], parts=[Counts()], batch=1, **local)
        at_server, at_clients, steps = seen.pop()
        assert close(at_server, *wanted)
        assert close(at_clients, *wanted)
        assert local or torch.equal(at_server, steps)

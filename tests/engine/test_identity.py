"""A run of objects is recorded as what it was, and can be stored and resumed like any other."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar
from unittest.mock import ANY

import numpy as np
import pytest
import torch
from torch import nn

from fedbench import FedbenchError, Machine, Part, RunSpec, run
from fedbench.engine.given_objects import described
from fedbench.engine.probe import Probe
from fedbench.methods.fedprox import FedProx
from fedbench.probes.local_steps import Steps
from fedbench.sampling.sampler import Bernoulli, Sampler
from tests.methods.one_weight import LINE, line, objects, weight

CPU = Machine(device="cpu", workers=1)
SPEC = RunSpec(clients=2, **LINE).changed(rounds=3)
CLIENTS = [[1.0, 2.0], [3.0]]


@dataclass(frozen=True)
class Pull(Part):
    mu: float = 1.0

    def grad(self, inner, w, t):
        return inner(w) + self.mu * (w - t.w)


@dataclass(frozen=True)
class First(Sampler):
    m: int = 1

    def __call__(self, rng, K, participation, labels):
        return list(range(self.m))


@dataclass(frozen=True)
class Loudness(Probe):
    COLUMNS: ClassVar = {"loudness": ("loudness", "", "lower")}
    unit: float = 1.0

    def row(self, s):
        return {"loudness": float(s.new.w.norm()) / self.unit}

    def table(self, s):
        return [{"round": s.r.round + 1}]


def record(spec=SPEC, w=0.0, clients=CLIENTS, **given):
    return run(spec, machine=CPU, **{**objects(clients, w), **given}).record


def test_parts_samplers_and_probes_that_have_a_name_are_what_the_name_says():
    spec = RunSpec(clients=2, rounds=1, model={"mlp": {"hidden": 4}})
    given = {"parts": (FedProx(1.0),), "sampler": Bernoulli(), "probes": (Steps(every=2),)}
    names = {"parts": [{"fedprox": {"mu": 1.0}}], "sampler": "bernoulli"}
    wanted = spec.changed(**names, watch=[{"steps": {"every": 2}}])
    found = run(spec, machine=CPU, **given).record
    assert found["id"] == wanted.id
    assert found["settings"] == wanted.settings()
    assert found["resolved"] == wanted.model_dump(mode="json")
    assert run(wanted, machine=CPU).record["id"] == wanted.id
    # a default that is spelled out is the default, and what is given replaces what is named
    assert run(wanted, machine=CPU, parts=(FedProx(),)).record["id"] == (
        wanted.changed(parts=["fedprox"]).id
    )


def test_the_record_says_what_was_given_and_not_what_the_settings_name():
    found = record(parts=(Pull(2.0), FedProx(0.5)), sampler=First(), probes=(Loudness(),))
    assert found["id"].startswith("line-linear-own-pull-fedprox-s0-")
    for kept in (found["settings"], found["resolved"]):
        assert kept["parts"] == [
            {"class": "tests.engine.test_identity.Pull", "parameters": {"mu": 2.0}, "code": ANY},
            {
                "class": "fedbench.methods.fedprox.FedProx",
                "parameters": {"mu": 0.5, "pull": "gradient"},
            },
        ]
        assert kept["sampler"] == {
            "class": "tests.engine.test_identity.First",
            "parameters": {"m": 1},
            "code": ANY,
        }
        (probe,) = kept["watch"]
        assert probe == {
            "class": "tests.engine.test_identity.Loudness",
            "parameters": {"unit": 1.0},
            "code": ANY,
        }
        assert kept["dataset"]["name"] == "line"
        assert kept["dataset"]["checksum"] == line([1.0, 2.0, 3.0]).checksum
        assert kept["model"]["class"] == "torch.nn.modules.linear.Linear"
        assert kept["model"]["parameters"] == {"weight": [1, 1]}
    json.dumps(found)


def test_the_sampler_and_the_probes_that_are_given_are_used():
    given = objects(CLIENTS) | {"sampler": First(), "probes": (Loudness(2.0),)}
    found = run(SPEC, machine=CPU, **given)
    assert found.history["cohort"].tolist() == [1, 1, 1]
    # client 0 alone, mean target 1.5: w = 0.15, 0.285, 0.4065, in units of 2
    assert found.history["loudness"].tolist() == pytest.approx([0.075, 0.1425, 0.20325])
    assert found.tables["loudness"]["round"].tolist() == [1, 2, 3]


def halved(z, y):
    return 0.5 * (z.squeeze(-1) - y) ** 2


def scaled(by):
    return lambda z, y: by * (z.squeeze(-1) - y) ** 2


@pytest.mark.parametrize(
    "change",
    [
        {"w": 1.0},
        {"clients": [[1.0, 2.5], [3.0]]},
        {"clients": [[1.0], [2.0, 3.0]]},
        {"parts": (Pull(2.0),)},
        {"parts": (Pull(1.0), FedProx())},
        {"sampler": First(2)},
        {"probes": (Loudness(),)},
        {"loss": halved},
        {"loss": scaled(0.5)},
        {"spec": SPEC.changed(lr=0.2)},
        {"model": nn.Sequential(weight(), nn.Identity())},
    ],
    ids=lambda change: "-".join(change),
)
def test_any_other_object_is_another_run(change):
    usual = {"parts": (Pull(),), "sampler": First()}
    assert record(**usual)["id"] == record(**usual)["id"]
    assert record(**usual)["id"] != record(**{**usual, **change})["id"]


class Scaled(nn.Linear):
    """A layer whose attribute no weight and no word of its `repr` tells."""

    def __init__(self, act, by=1.0, words=frozenset("abc")):
        super().__init__(1, 1)
        self.act, self.by, self.words = act, by, words

    def forward(self, x):
        return self.by * self.act(super().forward(x))


class Squared(Scaled):
    def forward(self, x):
        return super().forward(x) ** 2


def altered(module, hook=None, **attributes):
    """The module with these attributes, and a hook on its outputs."""
    vars(module).update(attributes)
    if hook:
        module.register_forward_hook(hook)
    return module


def halving(factor, hooks=()):
    """A part whose base class has its formula, and an attribute that is no field."""

    class Base(Part):
        def end(self, delta, t):
            return delta * self.factor

        if hooks:
            step = staticmethod(hooks)

    @dataclass(frozen=True)
    class Mine(Base):
        __qualname__ = "Mine"

    Mine.factor = factor
    return Mine()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (nn.HuberLoss(delta=1.0), nn.HuberLoss(delta=2.0)),
        (Scaled(torch.relu), Scaled(torch.sigmoid)),
        (Scaled(torch.relu), Scaled(torch.relu, 5.0)),
        (Scaled(torch.relu), Scaled(torch.relu, words=frozenset("abx"))),
        (Scaled(torch.relu), Squared(torch.relu)),
        (Scaled(torch.relu), altered(Scaled(torch.relu), _private=2.0)),
        (Scaled(torch.relu), altered(Scaled(torch.relu), hook=lambda m, x, z: 2 * z)),
        (halving(1.0), halving(0.5)),
        (halving(1.0), halving(1.0, lambda d, r: d)),
        (halving(1.0, lambda d, r: d + 1), halving(1.0, lambda d, r: d)),
    ],
)
def test_what_computes_another_thing_is_described_otherwise(one, other):
    if isinstance(one, nn.Linear):
        other.load_state_dict(one.state_dict())
    assert described(one) == described(one)
    assert described(one) != described(other)


def test_a_set_of_words_in_code_is_the_same_in_every_process():
    asked = (
        "from fedbench.engine.given_objects import described\n"
        "print(described(lambda x: x in {'a', 'b', 'c', 'd', 'e'})['checksum'])"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", asked], env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True, check=True,
        ).stdout
        for seed in "123"
    }  # fmt: skip
    assert len(found) == 1


def test_a_class_that_was_edited_is_another_run(monkeypatch):
    before = record(parts=(Pull(),))["id"]
    monkeypatch.setattr(Pull, "grad", lambda self, inner, w, t: inner(w) + 2 * self.mu * (w - t.w))
    assert record(parts=(Pull(),))["id"] != before


def test_the_name_of_a_run_of_many_objects_still_fits_a_folders():
    parts = tuple(type(f"Pull{i:02}", (Pull,), {})() for i in range(40))
    assert len(record(parts=parts)["id"]) == 150 + len("-s0-") + 12


def test_layers_without_weights_and_what_a_loss_closes_over_are_told_apart():
    def deep(layer):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(1, 3), layer, nn.Linear(3, 1)).double()

    assert record(model=deep(nn.ReLU()))["id"] != record(model=deep(nn.Tanh()))["id"]
    assert record(loss=scaled(0.5))["id"] == record(loss=scaled(0.5))["id"]
    assert record(loss=scaled(0.5))["id"] != record(loss=scaled(0.25))["id"]


class Killed(Exception):  # noqa: N818  # it is no error
    pass


def kill(row):
    if row["round"] == 2:
        raise Killed


def test_a_run_of_objects_is_stored_and_resumed(refuses, tmp_path):
    given = objects(CLIENTS) | {"parts": (Pull(2.0),), "loss": scaled(0.5)}
    often = Machine(device="cpu", checkpoint_minutes=1e-9)
    with pytest.raises(Killed):
        run(SPEC, out=tmp_path / "run", machine=often, watch=kill, **given)
    other = given | {"parts": (Pull(3.0),)}
    with refuses(r"checkpoint.pt: belongs to run line-linear-own-pull"):
        run(SPEC, out=tmp_path / "run", machine=CPU, **other)
    seen = []
    resumed = run(SPEC, out=tmp_path / "run", machine=CPU, watch=seen.append, **given)
    assert [row["round"] for row in seen] == [2, 3]
    whole = run(SPEC, machine=CPU, **given)
    assert torch.equal(resumed.weights, whole.weights)
    stored = json.loads((tmp_path / "run" / "run.json").read_text())
    assert stored["id"] == whole.record["id"]


class Opaque:
    """A loss whose state nobody can read."""

    __slots__ = ("by",)

    def __init__(self, by):
        self.by = by

    def __call__(self, z, y):
        return self.by * (z.squeeze(-1) - y) ** 2


def test_an_object_of_unknown_content_is_run_but_not_stored(tmp_path):
    assert record(loss=Opaque(0.5))["status"] == "finished"
    with pytest.raises(
        FedbenchError, match=r"the loss that was given, since the content of .*Opaque is not known"
    ):
        run(SPEC, out=tmp_path / "x", machine=CPU, **objects(CLIENTS), loss=Opaque(0.5))


def test_arrays_within_parameters_count_by_their_content():
    @dataclass(frozen=True)
    class Fixed(Part):
        mask: object

        def step(self, d, r):
            return d

    ids = {record(parts=(Fixed(np.array(values)),))["id"] for values in ([1, 0], [0, 1], [1, 0])}
    assert len(ids) == 2

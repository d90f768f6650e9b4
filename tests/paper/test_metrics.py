"""Metrics: what columns are called and which direction is better comes from declarations."""

import itertools

import pytest

from fedbench import RunSpec, run
from fedbench.base import registry
from fedbench.engine.machine import Machine
from fedbench.paper.metrics import Metric, columns, meaning

PROBES = registry.entries("probe")
DECLARED = [
    (f"{probe}.{constant}.{name}", value)
    for probe, entry in PROBES.items()
    for constant in ("COLUMNS", "TABLE")
    for name, value in entry.constants.get(constant, {}).items()
]


def test_a_column_is_what_its_probe_declares():
    assert Metric("hessian_top").label == "Top eigenvalue"
    assert Metric("hessian_top").lower_is_better
    assert Metric("angle_mean").label == "Angle to the last global step (°)"
    assert not Metric("angle_mean").is_ranked
    assert Metric("local_accuracy@mean").is_score
    assert Metric("steps/cosine").label == "Cosine to the mean gradient"
    assert Metric("holdings/few").label == "Share of clients with one or two classes"


def test_nothing_is_read_off_the_name_of_a_column():
    for name in ("gloss", "personal_taste", "loss_of_face", "steps/gloss", "nobody/loss"):
        found = Metric(name)
        assert found.label == name
        assert [found.is_ranked, found.lower_is_better, found.is_score] == [False] * 3


def test_a_number_of_clients_is_no_score():
    assert not Metric("personal_clients").is_score
    assert Metric("personal_none").is_score


def test_prefix_suffix_and_moment_leave_the_meaning():
    found = Metric("val_loss[two]@best")
    assert found.lower_is_better
    assert found.label == "Validation loss of the mean of the last two models, best"
    assert Metric("accuracy[mine]").label == "Accuracy of the model 'mine'"
    assert Metric("s_mean@mean").label == "Scaling s, mean"
    assert Metric("accuracy@jumps").lower_is_better


@pytest.mark.parametrize(("name", "value"), DECLARED)
def test_a_declaration_has_a_label_a_unit_and_a_direction(name, value):
    label, unit, better = value
    assert label
    assert isinstance(unit, str)
    assert better in ("higher", "lower", "")


def test_probes_that_declare_the_same_column_agree():
    declared = [entry.constants.get("COLUMNS", {}) for entry in PROBES.values()]
    pairs = itertools.combinations(declared, 2)
    shared = [(a[name], b[name]) for a, b in pairs for name in a.keys() & b.keys()]
    assert shared
    assert all(one == other for one, other in shared)


def test_every_column_of_a_run_is_declared():
    spec = RunSpec(rounds=1, clients=2, batch=None, validation=0.2, watch=["angles", "locals"])
    found = run(spec, machine=Machine(device="cpu", workers=1)).history
    assert set(found) <= columns(spec)
    bare = (name.removeprefix("val_").partition("[")[0] for name in columns(spec))
    assert all(meaning(name) for name in bare)


@pytest.mark.parametrize("params", [{"regression": True}, {}])
def test_runs_on_numbers_have_a_loss_and_no_accuracy(params):
    found = columns(RunSpec(dataset={"file": {"path": "a.csv", **params}}, validation=0.1))
    assert {"loss", "val_loss"} <= found
    assert ("accuracy" in found, "val_macro_f1" in found) == (not params, not params)

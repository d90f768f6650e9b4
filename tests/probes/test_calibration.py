"""The probe `calibration` against `calibrate`, which it calls."""

import functools

import pytest

from fedbench import Machine, RunSpec, run
from fedbench.core.flat_network import Model
from fedbench.engine.assemble import assemble
from fedbench.methods.fedprox import FedProx
from fedbench.methods.selfconfidence import SelfConfidence
from fedbench.probes.classifier_calibration import Calibration, calibrate

SPEC = RunSpec(
    **{"clients": 12, "participation": 0.5, "rounds": 4, "batch": 10, "eval_every": 2},
    **{"partition": {"dy": {"alpha": 0.1}}, "model": {"mlp": {"hidden": 16}}},
)
CPU = Machine(device="cpu", workers=1)


@functools.cache
def watched(**params):
    return run(SPEC.changed(watch=[{"calibration": params}]), machine=CPU)


@pytest.mark.parametrize(
    ("kind", "parts"),
    [("none", ()), ("prox", (FedProx(3.0),)), ("distil", (SelfConfidence(0.9),))],
)
def test_every_kind_is_what_the_analysis_gives_at_the_final_model(kind, parts):
    result = watched(mu=3.0, lam=0.9)
    global_model = Model(result.weights, result.buffers)
    found = calibrate(assemble(SPEC, {}, CPU, None), global_model, parts)
    last, scored = result.history.iloc[-1], found[0].dropna()
    assert last[f"personal_{kind}"] == pytest.approx(scored["accuracy"].mean())
    assert last["personal_global"] == pytest.approx(scored["global_accuracy"].mean())
    assert last["personal_clients"] == len(scored)
    table = result.tables["calibration"].query("kind == @kind").set_index("client")["accuracy"]
    wanted = found[0].set_index("client")["accuracy"].dropna()
    assert table.to_dict() == pytest.approx(wanted.to_dict())


def test_kinds_differ_and_come_at_the_last_round_only():
    history = watched(mu=3.0, lam=0.9).history
    kinds = ["personal_global", "personal_none", "personal_prox", "personal_distil"]
    assert history[kinds].iloc[0].isna().all()
    assert history[kinds].iloc[-1].nunique() == 4


def test_gains_are_the_least_and_the_most_of_the_kinds():
    last = watched(mu=3.0, lam=0.9).history.iloc[-1]
    gains = last[["personal_none", "personal_prox", "personal_distil"]] - last["personal_global"]
    assert last["personal_gain_lowest"] == pytest.approx(gains.min())
    assert last["personal_gain_highest"] == pytest.approx(gains.max())


def test_gains_over_the_whole_test_set_start_from_the_scored_accuracy():
    last = watched(mu=3.0, lam=0.9).history.iloc[-1]
    gains = last[["personal_none", "personal_prox", "personal_distil"]] - last["accuracy"]
    assert last["accuracy"] != last["personal_global"]  # clients' shares differ in size
    assert last["personal_gain_whole_lowest"] == pytest.approx(gains.min())
    assert last["personal_gain_whole_highest"] == pytest.approx(gains.max())


def test_options_reach_the_calibration():
    still = watched(epochs=0).history.iloc[-1]
    assert still["personal_none"] == still["personal_global"]
    result = watched(lr=0.5, test_split="independent")
    how = Calibration(lr=0.5, test_split="independent")
    problem = assemble(SPEC, {}, CPU, None)
    wanted = calibrate(problem, Model(result.weights, result.buffers), (), how)[0]
    assert result.history["personal_none"].iloc[-1] == pytest.approx(wanted["accuracy"].mean())


@pytest.mark.parametrize("setting", [{"augment": {}}, {"decay_norms": False, "weight_decay": 0.1}])
def test_augmented_runs_and_those_that_spare_norms_are_watched_to_the_end(setting):
    spec = SPEC.changed(watch=["calibration"], **setting)
    assert run(spec, machine=CPU).history["personal_none"].notna().iloc[-1]


def test_a_test_set_that_cannot_be_split_is_refused_before_training(refuses):
    probe = Calibration(test_split="independent")
    with refuses("36 clients need 10 samples each, but there are only 355"):
        probe.require(assemble(SPEC.changed(clients=36), {}, CPU, None))
    given = {"partition": [[i] for i in range(12)]}  # the rule by default, iid, is not theirs
    with refuses("this run was given its clients' samples; use test_split = 'mirrored'"):
        probe.require(assemble(SPEC, given, CPU, None))

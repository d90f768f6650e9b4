"""What a result shows when it is printed."""

import pandas as pd
import pytest
import torch

from fedbench import Machine, Result, RunSpec, Training, run
from tests.methods.one_weight import train


def test_a_result_is_printed_in_one_line():
    # w = 4, target 2, lr 0.1: the model ends at 3.8, so the loss is ½ · 1.8² = 1.62
    text = repr(train([[2.0]], w=4.0))
    assert "\n" not in text
    assert text.startswith("Result(")
    assert text.endswith("finished after 1 rounds, loss 1.62)")


def test_a_training_says_how_far_it_is():
    spec, machine = RunSpec(clients=2, rounds=3, model={"mlp": {"hidden": 2}}), Machine("cpu", 1)
    training = Training(spec, machine)
    training.round()
    assert repr(training) == f"Training({spec.id}, 1 of 3 rounds made)"


def test_a_spec_prints_what_differs_from_the_defaults():
    spec = RunSpec(rounds=3, parts=[{"fedprox": {"mu": 0.1}}], lr=0.1)
    assert repr(spec) == "RunSpec(parts=({'fedprox': {'mu': 0.1}},), rounds=3)"
    assert repr(RunSpec()) == "RunSpec()"


def test_a_result_is_loaded_from_its_folder(tmp_path, refuses):
    spec = RunSpec(clients=2, rounds=2, model={"mlp": {"hidden": 2}}, parts=["FedADC+"])
    with refuses("no finished run"):
        Result.load(tmp_path)
    made = run(spec, out=tmp_path, machine=Machine("cpu", 1, keep_model=True))
    again = Result.load(tmp_path)
    assert (again.spec, again.status, again.accuracy) == (spec, "finished", made.accuracy)
    assert torch.equal(again.weights, made.weights)
    pd.testing.assert_frame_equal(again.history, made.history)
    pd.testing.assert_frame_equal(again.tables["clients"], made.tables["clients"])


def test_weights_that_were_not_kept_are_none(tmp_path):
    made = run(RunSpec(clients=2, rounds=1, model={"mlp": {"hidden": 2}}), out=tmp_path)
    again = Result.load(tmp_path)
    assert again.weights is None
    assert again.record["id"] == made.record["id"]


def test_accuracy_is_the_last_and_a_plot_has_one_point_per_round(refuses):
    result = run(RunSpec(clients=2, rounds=3, model={"mlp": {"hidden": 2}}))
    assert result.accuracy == result.history["accuracy"].iloc[-1]
    (line,) = result.plot("loss", label="FedAvg").get_lines()
    assert line.get_ydata().tolist() == pytest.approx(result.history["loss"].tolist())
    with refuses("has no accuracy"):
        train([[2.0]], w=4.0).accuracy  # noqa: B018

"""Probes of what clients see: `perclient` and `personal`."""

import numpy as np
import pytest
import torch
from torch import nn

from fedbench import Dataset, Machine, RunSpec, run

CPU = Machine(device="cpu")


def two_sides(watch, **settings):
    """Client 0 has points left of zero (class 0), client 1 right of it (class 1).

    The model begins with class 1 everywhere; a local step of rate 1 on points of one class makes
    that class the answer everywhere.
    """
    x = np.array([[-1.0], [-1.0], [1.0]])
    data = Dataset("sides", x, np.array([0, 0, 1]), x, np.array([0, 0, 1]), classes=2)
    model = nn.Linear(1, 2, dtype=torch.float64)
    nn.init.zeros_(model.weight)
    model.bias.data = torch.tensor([0.0, 0.1], dtype=torch.float64)
    spec = RunSpec(clients=2, rounds=1, precision="float64", watch=watch, **settings)
    rows = [np.array([0, 1]), np.array([2])]
    return run(spec, data=data, model=model, partition=rows, parts=(), machine=CPU)


def test_a_model_that_knows_one_class_serves_one_client():
    result = two_sides(["perclient"], lr=1e-6)
    row = result.history.iloc[-1]
    assert row["accuracy"] == pytest.approx(1 / 3)  # one of three test samples is of class 1
    assert row["client_accuracy"] == 0.5  # 0 at client 0, 1 at client 1
    assert row["client_worst"] == 0.0
    assert row["client_spread"] == pytest.approx(0.5**0.5)  # of 0 and 1
    assert result.tables["perclient"].to_dict("list") == {"client": [0, 1], "accuracy": [0.0, 1.0]}


def three_sides(watch, tested):
    """Client i holds class i alone; the test set has the classes `tested`. Client 0 is known."""
    x, y = np.array([[-1.0], [1.0], [2.0]]), np.arange(3)
    data = Dataset("sides", x, y, x[tested], y[tested], classes=3)
    model = nn.Linear(1, 3, dtype=torch.float64)
    nn.init.zeros_(model.weight)
    model.bias.data = torch.tensor([0.1, 0.0, 0.0], dtype=torch.float64)
    spec = RunSpec(clients=3, rounds=1, precision="float64", watch=watch, lr=1e-6)
    rows = [np.array([i]) for i in range(3)]
    return run(spec, data=data, model=model, partition=rows, parts=(), machine=CPU)


def test_clients_without_a_tested_class_are_counted_and_said():
    said = "perclient: 1 of 3 clients hold only classes of which the test set has no sample"
    with pytest.warns(UserWarning, match=said):
        result = three_sides(["perclient"], [0, 1])
    row = result.history.iloc[-1]
    assert (row["client_accuracy"], row["client_untested"]) == (0.5, 1)
    assert np.isnan(result.tables["perclient"]["accuracy"][2])
    assert "client_untested" not in three_sides(["perclient"], [0, 1, 2]).history


def test_personal_says_it_too():
    with pytest.warns(UserWarning, match="personal: 2 of 3 clients hold only classes"):
        assert three_sides(["personal"], [1]).history["personal_accuracy"].iloc[-1] == 0.0


@pytest.mark.parametrize("probe", ["perclient", "personal"])
def test_without_any_tested_client_a_probe_is_refused(refuses, probe):
    x, y = np.array([[-1.0], [1.0]]), np.array([0, 1])
    data = Dataset("sides", x, y, x[:1], np.array([2]), classes=3)
    with refuses(f"watch: {probe} has nothing to measure: all 2 clients hold only classes"):
        run(RunSpec(clients=2, rounds=1, watch=[probe]), data=data, machine=CPU)


def test_each_client_s_own_model_knows_its_class():
    row = two_sides(["personal"], lr=1.0).history.iloc[-1]
    assert row["personal_accuracy"] == row["personal_worst"] == 1.0
    assert row["personal_gain"] == 0.5  # the first global model: 0 at client 0, 1 at client 1


EVERYONE = {"personal": {"everyone": True}}
OWN = ("personal_accuracy", "personal_worst", "personal_gain")


def skewed(parts, **settings):
    usual = {"clients": 6, "rounds": 1, "partition": {"dp": {"delta": 0.3}}, "lr": 0.1}
    return run(RunSpec(parts=parts, **usual | settings), machine=CPU)


@pytest.mark.parametrize(
    "parts",
    [[], ["ditto"], ["localonly"], ["fedrep"], ["scaffold"], [{"scaffold": {"option": "I"}}]],
)
def test_everyone_is_scored_as_if_all_had_taken_part_in_the_round(parts):
    third = skewed(parts, participation=0.34, watch=[EVERYONE])
    whole = skewed(parts, participation=1.0, watch=["personal"])
    for column in OWN:
        assert third.history[column].tolist() == pytest.approx(whole.history[column].tolist())


def test_what_everyone_s_training_hands_on_does_not_reach_the_next_probe():
    chained, after = [{"mfl": {"buffer": "chained"}}], {"participation": 0.34, "lr": 0.03}
    first, second = (skewed(chained, watch=w, **after) for w in ([EVERYONE, "steps"], ["steps"]))
    assert first.tables["steps"].equals(second.tables["steps"])


def test_scoring_everyone_changes_no_bit_of_the_run_and_no_count():
    plain = skewed(["ditto"], participation=0.34, rounds=3)
    seen = skewed(["ditto"], participation=0.34, rounds=3, watch=[EVERYONE])
    assert (plain.weights == seen.weights).all()
    assert plain.history["sample_passes"].equals(seen.history["sample_passes"])

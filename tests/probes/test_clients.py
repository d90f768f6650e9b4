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


def test_each_client_s_own_model_knows_its_class():
    row = two_sides(["personal"], lr=1.0).history.iloc[-1]
    assert row["personal_accuracy"] == row["personal_worst"] == 1.0
    assert row["personal_gain"] == 0.5  # the first global model: 0 at client 0, 1 at client 1

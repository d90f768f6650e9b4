"""Angles, residuals and variances of updates by hand, and as the probe `angles` writes them."""

import numpy as np
import pytest
import torch
from torch import nn

from fedbench import Dataset, Machine, RunSpec, run
from fedbench.methods.feddpc import FedDPC
from fedbench.methods.fedprox import FedProx
from fedbench.probes.update_angles import geometry, relative_variance, rule, variance
from tests.methods.one_weight import blocks, close

CPU = Machine(device="cpu", workers=1)


def vector(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_a_triangle_by_hand():
    # Δ = (3, 4), P along the first axis: r = (0, 4), s r = (0, 9)
    found = geometry(vector(3, 4), vector(0, 4), vector(0, 9), P=vector(2, 0))
    assert found["angle"] == pytest.approx(53.13010235)
    assert (*found.values(),)[1:] == pytest.approx((5, 3, 4, 9, 2.25))
    obtuse = geometry(vector(-1, 1), vector(0, 1), vector(0, 1), P=vector(2, 0))
    assert obtuse["angle"] == pytest.approx(135)


def test_variance_by_hand():
    assert variance(torch.tensor([[1.0, 0.0], [3.0, 4.0]])) == 2 + 8
    assert np.isnan(variance(torch.ones(1, 2)))


def test_relative_variance_by_hand_is_free_of_scale():
    pair = torch.tensor([[3.0, 0.0], [0.0, 1.0]])  # variance 4.5 + 0.5, mean length 2
    assert relative_variance(pair) == pytest.approx(5 / 4)
    assert relative_variance(7 * pair) == pytest.approx(5 / 4)
    assert np.isnan(relative_variance(torch.zeros(2, 2)))


def test_relative_variance_may_rise_where_the_plain_one_cannot():
    # what both updates share goes with the projection on (1, 0): the rest points apart
    updates, freed = torch.tensor([[3.0, 1.0], [3.0, -1.0]]), torch.tensor([[0.0, 1.0], [0, -1]])
    assert variance(freed) == variance(updates) == 2
    assert relative_variance(freed) == pytest.approx(2)
    assert relative_variance(updates) == pytest.approx(2 / 10)


def test_whose_scales():
    assert rule((FedProx(1.0), FedDPC(3.0))) == FedDPC(3.0)
    assert rule((FedDPC(scaling="none"),)).scaling == "none"  # the ablation's factor is 1
    assert rule((FedDPC(scaling="none", projection=False),)) == FedDPC()
    assert rule(()) == FedDPC()


def watched(*parts, **settings):
    """Client 0 knows the first weight's target, client 1 the second's; both 4, w = 0, lr ½."""
    x, y = np.eye(2), np.array([4.0, 4.0])
    model = nn.Linear(2, 1, bias=False, dtype=torch.float64)
    nn.init.zeros_(model.weight)
    objects = {"data": Dataset("cross", x, y, x, y, 0), "model": model, "parts": parts}
    spec = RunSpec(**{"clients": 2, "batch": None, "lr": 0.5, "rounds": 2, "watch": ["angles"],
                      "precision": "float64"} | settings)  # fmt: skip
    return run(spec, machine=CPU, partition=blocks([1, 1]), **objects)


def test_two_rounds_by_hand():
    # round 1: Δ (−4, 0) and (0, −4), to (1, 1); round 2: (−3, 0) and (0, −3) against (−1, −1):
    # r = (−1.5, 1.5) and back, s = 1 + 3/√4.5 = 1 + √2
    result = watched()
    first, second = (row for _, row in result.history.iterrows())
    assert first[["angle_mean", "s_mean", "update_cosine", "update_variance"]].isna().all()
    assert first["delta_variance"] == pytest.approx(16)
    assert second["angle_mean"] == pytest.approx(45)
    assert second["angle_share_obtuse"] == 0
    assert second["s_mean"] == pytest.approx(1 + 2**0.5)
    assert second["residual_variance"] == pytest.approx(9)
    assert second["scaled_variance"] == pytest.approx(9 * (1 + 2**0.5) ** 2)
    assert second["delta_variance"] == pytest.approx(9)
    assert second["update_cosine"] == pytest.approx(1)
    assert second["update_variance"] == pytest.approx(0.25)  # (−2, −2) and (−1.5, −1.5)
    # lengths: updates 3 and 3; residuals √4.5 twice; global steps √8 and √4.5, variance 0.25
    assert second["delta_relative_variance"] == pytest.approx(1)
    assert second["residual_relative_variance"] == pytest.approx(2)
    assert second["scaled_relative_variance"] == pytest.approx(2)
    assert second["update_relative_variance"] == pytest.approx(0.25 / (8**0.5 + 4.5**0.5) ** 2 * 4)
    table = result.tables["angles"]
    assert table["round"].tolist() == [2, 2]
    assert close(table["length"].to_numpy(), 3, 3)
    assert close(table["along"].to_numpy(), 3 / 2**0.5, 3 / 2**0.5)
    assert close(table["residual"].to_numpy(), 4.5**0.5, 4.5**0.5)
    assert close(table["scaled"].to_numpy(), 4.5**0.5 + 3, 4.5**0.5 + 3)


def test_units_are_those_of_gradients_whatever_the_rate():
    # round 2 starts at (1, 1) with a tenth of the rate: Δ stays (−3, 0), (0, −3)
    second = watched(lr_decay=0.1).history.iloc[1]
    assert second["delta_variance"] == pytest.approx(9)
    assert second["scaled_variance"] == pytest.approx(9 * (1 + 2**0.5) ** 2)
    assert second["update_variance"] == pytest.approx(0.25)


def test_an_update_away_from_the_last_one():
    # rate 3: round 1 to (6, 6), past the targets; round 2's Δ is (2, 0), (0, 2)
    row = watched(lr=3.0).history.iloc[1]
    assert row["angle_mean"] == pytest.approx(135)
    assert row["angle_share_obtuse"] == 1
    assert row["update_cosine"] == pytest.approx(-1)


def test_feddpc_turns_at_right_angles_and_is_measured_with_its_own_scale():
    own = watched(FedDPC(3.0), rounds=3).history.iloc[1]
    # round 1 (r = Δ, s = 4): to (4, 4): nothing is left to learn
    assert own["delta_variance"] == pytest.approx(0)
    usual = watched(FedDPC(0.0), rounds=2).history.iloc[1]  # s = 1: to (1, 1), as by hand
    assert usual["s_mean"] == pytest.approx(2**0.5)
    settings = {"dataset": "digits", "clients": 8, "participation": 0.5, "rounds": 4, "lr": 0.05}
    spec = RunSpec(**settings, parts=["feddpc"], partition={"dy": {"alpha": 0.3}},
                   model={"mlp": {"hidden": 8}}, precision="float64", watch=["angles"])  # fmt: skip
    history = run(spec, machine=CPU).history
    assert history["update_cosine"].iloc[1:].abs().max() < 1e-12
    assert (history["residual_variance"].iloc[1:] < history["delta_variance"].iloc[1:]).all()

"""FedACG: the look-ahead start, worked by hand, its invariants, and the NumPy reference."""

import numpy as np
import pytest
import torch

from fedbench.methods.fedacg import FedACG
from fedbench.methods.fedprox import FedProx
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import close, train
from tests.methods.recording import Ledger, progress

EXTRA = [{"lam": 0.5, "beta": 0.1}]
NEUTRAL = [{"lam": 0, "beta": 0}]

CLIENTS = [[2.0, 1.0, 0.0], [-2.0], [5.0, 7.0]]
RULES = {"epochs": 2, "batch": 2, "rounds": 4, "participation": 0.67}


def test_two_rounds_by_hand():
    # λ=½, β=0, lr 0.1, x=1, target 0, one step: y = 0.9 = x_1, m = −0.1, z = 0.9 − 0.05 = 0.85
    # y = 0.765 = x_2, m = 0.765 − 0.9 = −0.135, z = 0.765 − 0.0675 = 0.6975
    result = train([[0.0]], 1.0, [FedACG(0.5, 0.0)], rounds=2)
    assert list(result.history["loss"]) == pytest.approx([0.9**2 / 2, 0.765**2 / 2])
    assert list(result.history["loss[next]"]) == pytest.approx([0.85**2 / 2, 0.6975**2 / 2])


def test_the_pull_is_towards_the_start():
    # β=½, two steps: 0.9; 0.9 + ½(0.9 − 1) = 0.85: 0.815
    result = train([[0.0]], 1.0, [FedACG(0.5, 0.5)], steps=2)
    assert result.history["loss"].iloc[0] == pytest.approx(0.815**2 / 2)


def test_momentum_is_the_way_of_the_mean_model():
    # x_{t+1} = mean y_i; m_{t+1} = x_{t+1} − x_t
    ledger = Ledger()
    state = progress(CLIENTS, 1.0, [ledger, FedACG()], **RULES)
    x = [1.0, *(float(r.models.mean()) for r in ledger.rounds)]
    assert close(state.server[1]["m"], x[-1] - x[-2])
    assert close(state.global_model.w, x[-1] + 0.85 * (x[-1] - x[-2]))


def test_without_momentum_it_is_fedprox():
    prox = train(CLIENTS, 1.0, [FedProx(0.3)], **RULES).weights
    assert torch.equal(train(CLIENTS, 1.0, [FedACG(0.0, 0.3)], **RULES).weights, prox)


def twin(s, lam, beta):
    """Algorithm 1: broadcast θ + λ m; m ← λ m + Δ, θ ← θ + m. Returns what is broadcast next."""
    state = {"theta": s.w0, "m": np.zeros_like(s.w0)}

    def one_round(t, cohort, p, _):
        theta, m = state["theta"], state["m"]
        z = theta + lam * m
        deltas = [
            reference.descend(s, t, i, z, lambda y, g: g + beta * (y - z)) - z for i in cohort
        ]
        state["m"] = lam * m + reference.mix(p, deltas)
        state["theta"] = theta + state["m"]
        return state["theta"] + lam * state["m"]

    return reference.rounds(s, one_round)


@pytest.mark.parametrize(("lam", "beta"), [(0.85, 0.001), (0.5, 0.3)])
def test_numpy_reference(lam, beta):
    for by_samples in (False, True):
        s = reference.problem(by_samples=by_samples)
        got = trajectory(s, (FedACG(lam, beta),))
        np.testing.assert_allclose(got, twin(s, lam, beta), rtol=1e-8, atol=1e-10)

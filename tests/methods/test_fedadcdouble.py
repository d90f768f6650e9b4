"""FedADC with double momentum, worked by hand, its invariants, and the NumPy reference."""

import numpy as np
import pytest
import torch

from fedbench.methods.fedadc import FedADC
from fedbench.methods.fedadcdouble import FedADCDouble
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import close, final, train
from tests.methods.recording import progress

EXTRA = [{"phi": 0.5, "alpha": 1.5}, {"divisor": 10}]
NEUTRAL = [{"beta": 0, "phi": 0}]
NEEDS = {"momentum": 0.0}

CLIENTS = [[2.0, 1.0, 0.0], [-2.0], [5.0, 7.0]]
RULES = {"epochs": 2, "batch": 2, "rounds": 4, "weight_decay": 0.1}


def test_two_rounds_by_hand():
    # β=φ=½, lr 0.1, w=1, target 0. u = 1: 0.9; u = 0.5 + 0.45: 0.805; m = 1.95, m̄ = ½ · 1.95 / 2
    # u = 0.805 (afresh): 0.805 − 0.1 (0.805 + 0.4875) = 0.67575
    # u = 0.4025 + 0.337875: 0.67575 − 0.1 (0.740375 + 0.4875) = 0.5529625
    rules = {"steps": 2, "rounds": 2}
    assert close(final(train([[0.0]], 1.0, [FedADCDouble(0.5, 0.5)], **rules)), 0.5529625)


def test_the_server_keeps_the_mean_update_and_steps_alpha_times_it():
    state = progress([[0.0]], 1.0, [FedADCDouble(0.5, 0.5, alpha=2.0)], steps=2)
    assert close(state.server[0]["m"], 1.95)
    assert close(state.global_model.w, 1 - 2 * 0.195)


def test_a_fixed_divisor_by_hand():
    # m̄ = ½ · 1.95 / 10 = 0.0975: 0.805 − 0.09025 = 0.71475; u = 0.4025 + 0.357375
    rules = {"steps": 2, "rounds": 2}
    part = FedADCDouble(0.5, 0.5, divisor=10)
    assert close(final(train([[0.0]], 1.0, [part], **rules)), 0.71475 - 0.1 * (0.759875 + 0.0975))


def test_the_local_buffer_is_pytorchs_with_equal_dampening():
    # with β=0 nothing is embedded: SGD(momentum=φ, dampening=φ), made afresh each round
    plain = train(CLIENTS, 1.0, momentum=0.7, dampening=0.7, **RULES).weights
    double = train(CLIENTS, 1.0, [FedADCDouble(0.0, 0.7)], **RULES).weights
    torch.testing.assert_close(double, plain, rtol=1e-12, atol=1e-12)


def test_without_local_momentum_it_is_fedadc_blue():
    blue = train(CLIENTS, 1.0, [FedADC(0.8, "blue", alpha=1.3)], **RULES).weights
    double = train(CLIENTS, 1.0, [FedADCDouble(0.8, 0.0, alpha=1.3)], **RULES).weights
    assert torch.equal(double, blue)


@pytest.mark.parametrize("phi", [0.5, 0.99])
def test_with_one_step_phi_does_not_matter(phi):
    rules = {**RULES, "epochs": None, "steps": 1}
    without = train(CLIENTS, 1.0, [FedADCDouble(0.8, 0.0)], **rules).weights
    assert torch.equal(train(CLIENTS, 1.0, [FedADCDouble(0.8, phi)], **rules).weights, without)


def twin(s, beta, phi, alpha=1.0):
    """Algorithm 4."""
    state = {"m": np.zeros_like(s.w0)}

    def one_round(t, cohort, p, x):
        deltas = []
        for i in cohort:
            H, u = len(s.batches(t, i)), None

            def direction(y, g, H=H):
                nonlocal u
                u = g if u is None else u * phi + (1 - phi) * g
                return beta * state["m"] / H + u

            deltas.append((x - reference.descend(s, t, i, x, direction)) / s.eta(t))
        state["m"] = reference.mix(p, deltas)
        return x - alpha * s.eta(t) * state["m"]

    return reference.rounds(s, one_round)


@pytest.mark.parametrize(("beta", "phi", "alpha"), [(0.9, 0.9, 1.0), (0.6, 0.3, 1.4)])
def test_numpy_reference(beta, phi, alpha):
    for by_samples in (False, True):
        s = reference.problem(by_samples=by_samples, lr=0.05)
        got = trajectory(s, (FedADCDouble(beta, phi, alpha),))
        np.testing.assert_allclose(got, twin(s, beta, phi, alpha), rtol=1e-8, atol=1e-10)

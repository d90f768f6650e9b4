"""FedSAM: the gradient uphill, worked by hand, its invariants, and the NumPy reference."""

import numpy as np
import pytest
import torch

from fedbench.methods.fedprox import FedProx
from fedbench.methods.fedsam import FedSAM
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import close, final, train
from tests.methods.recording import progress

EXTRA = [{"rho": 0.03}]
NEUTRAL = [{"rho": 0}]

CLIENTS = [[2.0, 1.0, 0.0], [-2.0], [5.0, 7.0]]


def test_two_steps_by_hand():
    # w=1, target 0, ρ=0.1, lr 0.1: g(1.1) = 1.1: 0.89; g(0.99): 0.791
    result = train([[0.0]], 1.0, [FedSAM(0.1)], steps=2)
    assert close(final(result), 0.791)


def test_the_ascent_knows_no_weight_decay_and_no_clip_but_the_step_does():
    # w=1, target 1.2, wd ½: g = −0.2, so uphill is 0.9: −0.3 + 0.5: 0.98 (with wd: 1.1, 0.96)
    assert close(final(train([[1.2]], 1.0, [FedSAM(0.1)], weight_decay=0.5)), 0.98)
    # clip 0.5 holds the step, not the ascent: ρ = 1: g(2) = 2, clipped
    assert abs(final(train([[0.0]], 1.0, [FedSAM(1.0)], clip=0.5)) - 0.95) < 1e-6


def test_the_gradient_of_a_quadratic():
    # F = ½ yᵀA y: g₂ = A (y + ρ A y / ‖A y‖)
    A = torch.tensor([[3.0, 1.0], [1.0, 2.0]], dtype=torch.float64)
    y = torch.tensor([0.6, -1.4], dtype=torch.float64)
    up = y + 0.3 * (A @ y) / (A @ y).norm()
    got = FedSAM(0.3).grad(lambda w: A @ w, y, None)
    torch.testing.assert_close(got, A @ up)


def test_at_a_stationary_point_it_stays():
    assert close(final(train([[1.0]], 1.0, [FedSAM(0.5)], steps=3)), 1.0)


def test_on_a_linear_loss_it_is_fedavg():
    def linear(z, y):
        return (2 * z).sum(-1)

    rules = {"loss": linear, "batch": 1, "rounds": 3}
    sam = progress(CLIENTS, 1.0, [FedSAM(0.5)], **rules).global_model.w
    assert torch.equal(sam, progress(CLIENTS, 1.0, **rules).global_model.w)


def test_it_climbs_on_the_gradient_of_the_parts_before_it():
    # [fedprox, fedsam]: the pull is in both gradients. x=1, target 0, μ=1, ρ=0.1. 1.1 + 0.1: 0.88;
    # y=0.88: g = 0.88 − 0.12, up to 0.98: 0.98 − 0.02: 0.784
    result = train([[0.0]], 1.0, [FedProx(1.0), FedSAM(0.1)], steps=2)
    assert close(final(result), 0.784)


def twin(s, rho):
    """Foret et al.'s step at each client; weight decay at y alone."""

    def one_round(t, cohort, p, x):
        ys = []
        for i in cohort:
            y = x
            for rows in s.batches(t, i):
                g = s.gradient(y, rows)
                g = s.gradient(y + rho * g / np.linalg.norm(g), rows)
                y = y - s.eta(t) * (g + s.weight_decay * y)
            ys.append(y)
        return reference.mix(p, ys)

    return reference.rounds(s, one_round)


@pytest.mark.parametrize("rho", [0.01, 0.1, 0.7])
def test_numpy_reference(rho):
    for by_samples in (False, True):
        s = reference.problem(by_samples=by_samples)
        got = trajectory(s, (FedSAM(rho),))
        np.testing.assert_allclose(got, twin(s, rho), rtol=1e-8, atol=1e-10)

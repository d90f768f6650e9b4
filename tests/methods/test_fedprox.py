"""FedProx: g + μ (y − x), worked by hand, its invariants, and the NumPy reference."""

import numpy as np
import pytest
import torch

from fedbench.methods.fedprox import FedProx
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import close, final, train

EXTRA = [{"mu": 1.0}, {"mu": 0.5, "pull": "decay"}]
NEUTRAL = [{"mu": 0}, {"mu": 0, "pull": "decay"}]

CLIENTS = [[2.0, 1.0, 0.0], [-2.0], [5.0, 7.0]]


def test_two_steps_by_hand():
    # x=4, target 0, lr 0.1, μ=0.5: g = 4 → 3.6; g = 3.6 + 0.5 (3.6 − 4) = 3.4 → 3.26
    result = train([[0.0]], w=4.0, parts=[FedProx(0.5)], steps=2)
    assert close(final(result), 3.26)


def test_the_pull_is_mu_not_half_of_it_and_starts_anew_each_round():
    # the second round pulls towards 3.26: 2.934, then 2.934 + 0.5 (2.934 − 3.26) = 2.771 → 2.6569
    result = train([[0.0]], w=4.0, parts=[FedProx(0.5)], steps=2, rounds=2)
    assert close(final(result), 2.6569)


@pytest.mark.parametrize("mu", [0.01, 1.0, 10.0])
def test_one_step_is_fedavg_for_every_mu(mu):
    # at y = x the pull is 0; weight decay and clipping included
    rules = {"steps": 1, "batch": 2, "rounds": 4, "weight_decay": 0.1, "clip": 1.0}
    plain = train(CLIENTS, w=4.0, **rules)
    assert torch.equal(train(CLIENTS, w=4.0, parts=[FedProx(mu)], **rules).weights, plain.weights)


def test_mu_zero_has_the_bits_of_fedavg():
    rules = {"epochs": 3, "batch": 2, "rounds": 4, "momentum": 0.9}
    plain = train(CLIENTS, **rules)
    assert torch.equal(train(CLIENTS, parts=[FedProx(0.0)], **rules).weights, plain.weights)


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_eta_mu_one_keeps_the_last_gradient_only(steps):
    # η μ = 1: y ← y − η g − (y − x) = x − η g(y). With g = y, x = 1, η = ½: 1 − ½, 1 − ¼, 1 − ⅜, …
    y = 1.0
    for _ in range(steps):
        y = 1.0 - 0.5 * y
    result = train([[0.0]], w=1.0, parts=[FedProx(2.0)], lr=0.5, steps=steps)
    assert close(final(result), y)


def test_the_pull_is_clipped_with_the_gradient_and_rides_in_the_buffer():
    # x=1, target 0, lr 1, μ=3, clip 1: g=1 → 0; g = 0 + 3(0−1) = −3 clipped −1, buffer ½·1 − 1 = −½
    rules = {"lr": 1.0, "steps": 2, "clip": 1.0, "momentum": 0.5}
    assert abs(final(train([[0.0]], w=1.0, parts=[FedProx(3.0)], **rules)) - 0.5) < 1e-5


def test_pulled_as_decay_mu_y_stays_outside_the_clip():
    # w=4, target 0, lr 0.1, clip 1, μ=½: 4 − ½·4 → 1, + ½·4 = 3: 3.7; 3.7 − 2 → 1, + 1.85: 3.415
    part = FedProx(0.5, pull="decay")
    assert abs(final(train([[0.0]], 4.0, [part], steps=2, clip=1.0)) - 3.415) < 1e-5
    # where nothing is clipped it is the same pull
    rules = {"epochs": 3, "batch": 2, "rounds": 4, "momentum": 0.5, "weight_decay": 0.1}
    usual = train(CLIENTS, w=4.0, parts=[FedProx(0.5)], **rules).weights
    assert torch.allclose(train(CLIENTS, w=4.0, parts=[part], **rules).weights, usual, rtol=1e-12)


def test_with_adam_the_pull_is_inside_the_moments():
    # the first Adam step is the sign of the gradient; the second sees the pull
    rules = {"optimizer": "adam", "steps": 2, "lr": 0.1, "eps": 1e-12}
    # g₁ = 1 → w = 0.9; g₂ = 0.9 + 5 (0.9 − 1) = 0.4
    m = (0.9 * 0.1 * 1 + 0.1 * 0.4) / (1 - 0.9**2)
    v = (0.999 * 0.001 * 1 + 0.001 * 0.16) / (1 - 0.999**2)
    expected = 0.9 - 0.1 * m / v**0.5
    assert abs(final(train([[0.0]], w=1.0, parts=[FedProx(5.0)], **rules)) - expected) < 1e-9


@pytest.mark.parametrize("by_samples", [False, True])
@pytest.mark.parametrize("mu", [None, 0.0, 0.1, 2.0])
def test_numpy_reference(mu, by_samples):
    s = reference.problem(by_samples=by_samples)
    want = reference.fedavg(s) if mu is None else reference.fedprox(s, mu)
    got = trajectory(s, () if mu is None else (FedProx(mu),))
    assert np.abs(want[-1] - s.w0).max() > 0.1, "the problem must move"
    np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10)

"""Two-sided FedAvg: a server step of its own length, worked by hand and against plain NumPy."""

import numpy as np
import pytest
import torch

from fedbench.methods.twosided import TwoSided
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import close, final, train

EXTRA = [{"kappa": 2.0}, {"kappa": 0.5}]
NEUTRAL = [{}, {"kappa": 1}]
QUICK = {"kappa": 1.5}

CLIENTS = [[2.0], [-2.0]]


@pytest.mark.parametrize(("kappa", "expected"), [(1.0, 3.6), (2.0, 3.2), (0.5, 3.8)])
def test_one_round_by_hand(kappa, expected):
    # w=4, gradients 2 and 6, lr 0.1: D̄ = 0.4; x = 4 − κ · 0.4
    assert close(final(train(CLIENTS, 4.0, [TwoSided(kappa)])), expected)


def test_the_factor_is_on_every_round():
    # mean target 0: x ← x − 2 · 0.1 x = 0.8 x
    assert close(final(train(CLIENTS, 4.0, [TwoSided(2.0)], rounds=3)), 4 * 0.8**3)


def test_kappa_one_has_the_bits_of_fedavg():
    rules = {"epochs": 2, "batch": 1, "rounds": 4, "momentum": 0.9}
    plain = train(CLIENTS, 1.0, **rules).weights
    assert torch.equal(train(CLIENTS, 1.0, [TwoSided()], **rules).weights, plain)


@pytest.mark.parametrize("kappa", [0.0, -1.0])
def test_no_step_and_a_step_backwards_are_refused(refuses, kappa):
    with refuses("TwoSided: kappa"):
        TwoSided(kappa)


def two_sided(s, kappa):
    """Yang, Fang & Liu 2021, algorithm 1 with updates D_i/η and server rate κ η."""

    def one_round(t, cohort, p, x):
        eta = s.eta(t)
        deltas = [(x - reference.descend(s, t, i, x, lambda y, g: g)) / eta for i in cohort]
        return x - kappa * eta * reference.mix(p, deltas)

    return reference.rounds(s, one_round)


@pytest.mark.parametrize("by_samples", [False, True])
@pytest.mark.parametrize("kappa", [0.5, 1.0, 2.0])
def test_numpy_reference(kappa, by_samples):
    s = reference.problem(by_samples=by_samples)
    got = trajectory(s, (TwoSided(kappa),))
    np.testing.assert_allclose(got, two_sided(s, kappa), rtol=1e-8, atol=1e-10)

"""FedAdagrad: the server divides by all updates so far, by hand and against plain NumPy."""

import numpy as np
import pytest
import torch

from fedbench.core.part import Sizes
from fedbench.methods.fedadagrad import FedAdagrad
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import close, final, train
from tests.methods.server_side import Server, federation

EXTRA = [{"beta1": 0.9, "eta_g": 0.5, "v0": 0.0}]
NEUTRAL = []  # no strength at which it is FedAvg


def test_two_rounds_by_hand():
    # η_g 0.1, τ 0.5, β1 0: v = ¼. D = 3: v = 9.25, step 0.3/(√9.25 + ½). D = −1: v = 10.25
    server = Server(FedAdagrad(tau=0.5), federation(1, 1))
    assert close(server.step([[3.0]]), 0.3 / (9.25**0.5 + 0.5))
    assert close(server.step([[-1.0]]), -0.1 / (10.25**0.5 + 0.5))


def test_momentum_by_hand():
    # β1 ½, v0 0: m = 1.5, v = 9; D = −1: m = 0.75 − 0.5 = 0.25, v = 10
    server = Server(FedAdagrad(beta1=0.5, tau=0.5, v0=0.0), federation(1, 1))
    assert close(server.step([[3.0]]), 0.15 / 3.5)
    assert close(server.step([[-1.0]]), 0.025 / (10**0.5 + 0.5))


def test_a_run_by_hand():
    # w=4, gradients 2 and 6, lr 0.1: D̄ = 0.4; v = 0 + 0.16: x = 4 − 0.1 · 0.4/(0.4 + 0.1)
    part = FedAdagrad(tau=0.1, v0=0.0)
    assert close(final(train([[2.0], [-2.0]], 4.0, [part])), 3.92)


@pytest.mark.parametrize("v0", [None, 0.0, 2.0])
def test_without_momentum_it_is_pytorchs_adagrad(v0):
    server = Server(FedAdagrad(tau=0.01, v0=v0), federation(2, 3))
    x = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    first = 1e-4 if v0 is None else v0
    optimiser = torch.optim.Adagrad([x], lr=0.1, eps=0.01, initial_accumulator_value=first)
    rng, total = np.random.default_rng(0), torch.zeros(3, dtype=torch.float64)
    for _ in range(5):
        updates = rng.normal(size=(2, 3))
        total = total - server.step(updates)
        x.grad = torch.as_tensor(updates.mean(axis=0))
        optimiser.step()
    assert close(total, *x.tolist())


def test_cost_is_two_vectors_at_the_server():
    cost = FedAdagrad().cost(Sizes(d=7, classes=3, K=9, m=4, epochs=1, features=8))
    assert (cost.server_memory, cost.client_memory, cost.down, cost.up) == (14, 0, 0, 0)


def fedadagrad(s, beta1, eta, tau, v0):
    """Reddi et al. 2021, algorithm 2, "FedAdagrad"; Δ is new minus old."""
    m, v = np.zeros_like(s.w0), np.full_like(s.w0, tau**2 if v0 is None else v0)

    def one_round(t, cohort, p, x):
        nonlocal m, v
        ys = [reference.descend(s, t, i, x, lambda y, g: g) for i in cohort]
        delta = reference.mix(p, [y - x for y in ys])
        m = beta1 * m + (1 - beta1) * delta
        v = v + delta**2
        return x + eta * m / (np.sqrt(v) + tau)

    return reference.rounds(s, one_round)


@pytest.mark.parametrize("by_samples", [False, True])
@pytest.mark.parametrize("params", [{}, *EXTRA], ids=str)
def test_numpy_reference(params, by_samples):
    s, part = reference.problem(by_samples=by_samples), FedAdagrad(**params)
    want = fedadagrad(s, part.beta1, part.eta_g, part.tau, part.v0)
    got = trajectory(s, (part,))
    np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10)

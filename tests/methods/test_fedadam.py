"""FedAdam: Adam at the server, by hand and against plain NumPy."""

import numpy as np
import pytest
import torch

from fedbench import RunSpec, run
from fedbench.core.part import Sizes
from fedbench.methods.fedadam import FedAdam
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import close, final, train
from tests.methods.server_side import Server, federation

EXTRA = [{"beta1": 0.0, "eta_g": 0.5, "v0": 0.0}]
NEUTRAL = []  # no strength at which it is FedAvg


def test_two_rounds_by_hand():
    # β1 ½, β2 ¾, τ ½, η_g 0.1: v = ¼. D = 3: m = 1.5, v = 3/16 + 9/4 = 39/16
    # D = −1: m = 0.75 − 0.5 = 0.25, v = 117/64 + ¼ = 133/64
    server = Server(FedAdam(0.5, 0.75, eta_g=0.1, tau=0.5), federation(1, 1))
    assert close(server.step([[3.0]]), 0.15 / ((39 / 16) ** 0.5 + 0.5))
    assert close(server.step([[-1.0]]), 0.025 / ((133 / 64) ** 0.5 + 0.5))


def test_a_run_by_hand():
    # w=4, gradients 2 and 6, lr 0.1: D̄ = 0.4. m = 0.04, v = 0 + 0.01 · 0.16: √v = 0.04
    # x = 4 − 0.1 · 0.04/(0.04 + 0.01): no bias correction, or it would be 0.1 · 0.4/0.41
    part = FedAdam(eta_g=0.1, tau=0.01, v0=0.0)
    assert close(final(train([[2.0], [-2.0]], 4.0, [part])), 3.92)


def test_a_constant_update_is_stepped_by_its_sign_in_the_end():
    server = Server(FedAdam(eta_g=0.1, tau=1e-9), federation(1, 2))
    for _ in range(3000):
        step = server.step([[5.0, -0.01]])
    torch.testing.assert_close(step, torch.tensor([0.1, -0.1]).double(), rtol=1e-5, atol=0)


def test_v_forgets_and_starts_at_tau_squared():
    server = Server(FedAdam(beta2=0.5, eta_g=0.1, tau=2.0), federation(1, 1))
    assert close(server.state["v"], 4)
    server.step([[0.0]])
    assert close(server.state["v"], 2)
    assert close(Server(FedAdam(v0=0.0), federation(1, 1)).state["v"], 0)


@pytest.mark.parametrize("other", ["fedadagrad"])
def test_there_is_one_server_optimiser(refuses, other):
    for parts in (["fedadam", other], [other, "fedadam"]):
        with refuses("both decide which optimiser the server uses"):
            run(RunSpec(parts=parts))


def test_cost_is_two_vectors_at_the_server():
    cost = FedAdam().cost(Sizes(d=7, classes=3, K=9, m=4, epochs=1, features=8))
    assert (cost.server_memory, cost.client_memory, cost.down, cost.up) == (14, 0, 0, 0)


def fedadam(s, beta1, beta2, eta, tau, v0):
    """Reddi et al. 2021, algorithm 2, "FedAdam"; Δ is new minus old."""
    m, v = np.zeros_like(s.w0), np.full_like(s.w0, tau**2 if v0 is None else v0)

    def one_round(t, cohort, p, x):
        nonlocal m, v
        ys = [reference.descend(s, t, i, x, lambda y, g: g) for i in cohort]
        delta = reference.mix(p, [y - x for y in ys])
        m = beta1 * m + (1 - beta1) * delta
        v = beta2 * v + (1 - beta2) * delta**2
        return x + eta * m / (np.sqrt(v) + tau)

    return reference.rounds(s, one_round)


@pytest.mark.parametrize("by_samples", [False, True])
@pytest.mark.parametrize("params", [{}, *EXTRA], ids=str)
def test_numpy_reference(params, by_samples):
    s, part = reference.problem(by_samples=by_samples), FedAdam(**params)
    want = fedadam(s, part.beta1, part.beta2, part.eta_g, part.tau, part.v0)
    got = trajectory(s, (part,))
    np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10)

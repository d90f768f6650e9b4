"""FedYogi: Yogi at the server, by hand and against plain NumPy."""

import numpy as np
import pytest

from fedbench import RunSpec, run
from fedbench.core.part import Sizes
from fedbench.methods.fedyogi import FedYogi
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import close, final, train
from tests.methods.server_side import Server, federation

EXTRA = [{"beta1": 0.0, "eta_g": 0.5, "v0": 0.0}]
NEUTRAL = []  # no strength at which it is FedAvg


def test_two_rounds_by_hand():
    # β1 ½, β2 ¾, τ ½, η_g 0.1: v = ¼. D = 3 above √v: v = ¼ + 9/4 = 2.5, m = 1.5
    # D = −1 below: v = 2.5 − ¼ = 2.25, m = 0.25
    server = Server(FedYogi(0.5, 0.75, eta_g=0.1, tau=0.5), federation(1, 1))
    assert close(server.step([[3.0]]), 0.15 / (2.5**0.5 + 0.5))
    assert close(server.step([[-1.0]]), 0.025 / (1.5 + 0.5))


def test_a_run_by_hand():
    # w=4, gradients 2 and 6, lr 0.1: D̄ = 0.4. m = 0.04, v = 0 + 0.01 · 0.16: √v = 0.04
    part = FedYogi(eta_g=0.1, tau=0.01, v0=0.0)
    assert close(final(train([[2.0], [-2.0]], 4.0, [part])), 3.92)


def test_v_stands_still_at_the_square_and_falls_slower_than_adams():
    server = Server(FedYogi(beta2=0.5, eta_g=0.1, v0=4.0), federation(1, 3))
    server.step([[2.0, 1.0, 0.0]])
    assert close(server.state["v"], 4, 3.5, 4)  # Adam: 4, 2.5, 2


def test_v_stays_positive_and_moves_by_a_share_of_the_square():
    rng = np.random.default_rng(0)
    server = Server(FedYogi(eta_g=0.1), federation(1, 50))
    for _ in range(200):
        old, update = server.state["v"], rng.normal(size=(1, 50)) * 10 ** rng.uniform(-4, 2)
        server.step(update)
        moved = (server.state["v"] - old).abs().numpy()
        np.testing.assert_allclose(moved, 0.01 * update[0] ** 2, rtol=1e-6, atol=1e-12)
        assert (server.state["v"] >= 0).all()


@pytest.mark.parametrize("other", ["fedadagrad", "fedadam"])
def test_there_is_one_server_optimiser(refuses, other):
    for parts in (["fedyogi", other], [other, "fedyogi"]):
        with refuses("both decide which optimiser the server uses"):
            run(RunSpec(parts=parts))


def test_cost_is_two_vectors_at_the_server():
    cost = FedYogi().cost(Sizes(d=7, classes=3, K=9, m=4, epochs=1, features=8))
    assert (cost.server_memory, cost.client_memory, cost.down, cost.up) == (14, 0, 0, 0)


def fedyogi(s, beta1, beta2, eta, tau, v0):
    """Reddi et al. 2021, algorithm 2, "FedYogi"; Δ is new minus old."""
    m, v = np.zeros_like(s.w0), np.full_like(s.w0, tau**2 if v0 is None else v0)

    def one_round(t, cohort, p, x):
        nonlocal m, v
        ys = [reference.descend(s, t, i, x, lambda y, g: g) for i in cohort]
        delta = reference.mix(p, [y - x for y in ys])
        m = beta1 * m + (1 - beta1) * delta
        v = v - (1 - beta2) * delta**2 * np.sign(v - delta**2)
        return x + eta * m / (np.sqrt(v) + tau)

    return reference.rounds(s, one_round)


@pytest.mark.parametrize("by_samples", [False, True])
@pytest.mark.parametrize("params", [{}, *EXTRA], ids=str)
def test_numpy_reference(params, by_samples):
    s, part = reference.problem(by_samples=by_samples), FedYogi(**params)
    want = fedyogi(s, part.beta1, part.beta2, part.eta_g, part.tau, part.v0)
    got = trajectory(s, (part,))
    np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10)

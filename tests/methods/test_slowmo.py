"""SlowMo: momentum at the server, by hand, its invariants, the NumPy reference."""

import numpy as np
import pytest
import torch

from fedbench.core.part import Sizes
from fedbench.methods.slowmo import SlowMo
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import close, final, train
from tests.methods.server_side import Server, federation

EXTRA = [{"beta": 0.6, "alpha": 0.5}]
NEUTRAL = [{"beta": 0}]

CLIENTS = [[2.0, 1.0, 0.0], [-2.0], [5.0, 7.0]]


def test_two_rounds_by_hand():
    # β=½, α=1, lr 0.1, w=1, target 0, two local steps: y = 0.81, ḡ = 1.9, m = 1.9, x = 0.81
    # y = 0.81², ḡ = 0.81 · 1.9 = 1.539, m = 0.95 + 1.539 = 2.489, x = 0.81 − 0.2489
    rules = {"steps": 2}
    assert close(final(train([[0.0]], 1.0, [SlowMo(0.5)], rounds=1, **rules)), 0.81)
    assert close(final(train([[0.0]], 1.0, [SlowMo(0.5)], rounds=2, **rules)), 0.5611)


def test_alpha_scales_the_whole_step():
    # α=½: x = 1 − ½ · 0.19 = 0.905; ḡ = 0.905 · 1.9 = 1.7195, m = 0.95 + 1.7195 = 2.6695
    # x = 0.905 − 0.05 · 2.6695
    rules = {"steps": 2, "rounds": 2}
    assert close(final(train([[0.0]], 1.0, [SlowMo(0.5, alpha=0.5)], **rules)), 0.771525)


def test_old_momentum_moves_with_the_new_rate():
    # one step, β=½, η = 0.1 then 0.05: x = 0.9, m = 1; m = ½ + 0.9 = 1.4, x = 0.9 − 0.05 · 1.4
    # in model units it would be 0.9 − 0.05 (0.9) − ½ · 0.1 = 0.805
    rules = {"steps": 1, "rounds": 2, "lr_decay": 0.5}
    assert close(final(train([[0.0]], 1.0, [SlowMo(0.5)], **rules)), 0.83)


def test_momentum_is_kept_in_gradient_units_undampened():
    server = Server(SlowMo(0.5), federation(1, 1, lr=0.1))
    server.step([[0.2]])  # ḡ = 2
    assert close(server.state["m"], 2)
    server.step([[0.2]], lr=0.05)  # ḡ = 4, m = 1 + 4
    assert close(server.state["m"], 5)


def test_beta_zero_has_the_bits_of_fedavg():
    rules = {"epochs": 2, "batch": 2, "rounds": 4, "lr": 0.07, "lr_decay": 0.9}
    plain = train(CLIENTS, 1.0, **rules).weights
    assert torch.equal(train(CLIENTS, 1.0, [SlowMo(0.0)], **rules).weights, plain)


def test_one_full_step_is_heavy_ball_on_the_mean_gradient():
    # mean targets 1, −2 and 6, uniform weights: mean gradient w − 5/3, PyTorch's SGD with momentum
    w = torch.tensor([4.0], dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    for _ in range(6):
        optimiser.zero_grad()
        (0.5 * (w - 5 / 3) ** 2).sum().backward()
        optimiser.step()
    got = train(CLIENTS, 4.0, [SlowMo(0.9)], steps=1, rounds=6)
    assert close(final(got), w.item())


def test_a_constant_update_is_stepped_by_alpha_eta_over_one_minus_beta():
    server = Server(SlowMo(0.9, alpha=2.0), federation(1, 1, lr=0.1))
    lengths = [float(server.step([[0.3]])) for _ in range(400)]  # ḡ = 3
    assert lengths == sorted(lengths)
    assert close(lengths[-1], 2 * 0.1 * 3 / (1 - 0.9))


def test_cost_is_one_vector_at_the_server():
    cost = SlowMo().cost(Sizes(d=7, classes=3, K=9, m=4, epochs=1, features=8))
    assert (cost.server_memory, cost.client_memory, cost.down, cost.up) == (7, 0, 0, 0)
    assert cost.ops_begin == cost.ops_step == cost.ops_end == 0


def slowmo(s, beta, alpha):
    """FedADC paper, algorithm 2."""
    state = {"m": np.zeros_like(s.w0)}

    def one_round(t, cohort, p, theta):
        eta = s.eta(t)
        deltas = [theta - reference.descend(s, t, i, theta, lambda y, g: g) for i in cohort]
        pseudo_gradient = reference.mix(p, deltas) / eta
        state["m"] = beta * state["m"] + pseudo_gradient
        return theta - alpha * eta * state["m"]

    return reference.rounds(s, one_round)


@pytest.mark.parametrize("by_samples", [False, True])
@pytest.mark.parametrize(("beta", "alpha"), [(0.0, 1.0), (0.6, 1.0), (0.9, 0.5)])
def test_numpy_reference(beta, alpha, by_samples):
    s = reference.problem(by_samples=by_samples, lr=0.1)
    got = trajectory(s, (SlowMo(beta, alpha),))
    np.testing.assert_allclose(got, slowmo(s, beta, alpha), rtol=1e-8, atol=1e-10)

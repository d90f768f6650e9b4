"""MimeLite: fixed server momentum, worked by hand, its invariants, and the NumPy reference."""

import numpy as np
import pytest
import torch

from fedbench.methods.mimelite import MimeLite
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import close, final, train
from tests.methods.recording import progress

EXTRA = [{"beta": 0.5}]
NEUTRAL = [{"beta": 0}]
NEEDS = {"momentum": 0.0}

CLIENTS = [[2.0, 1.0, 0.0], [-2.0], [5.0, 7.0]]


def test_two_rounds_by_hand():
    # β=½, lr 0.1, w=1, target 0, two steps. v = ½: 0.95; v = 0.475: 0.9025; s = ½ · 1
    # v = 0.45125 + ¼: 0.832375; v = 0.4161875 + ¼: 0.76575625; s = ¼ + ½ · 0.9025
    state = progress([[0.0]], 1.0, [MimeLite(0.5)], steps=2, rounds=2)
    assert close(state.global_model.w, 0.76575625)
    assert close(state.server[0]["s"], 0.70125)


def test_the_statistics_see_all_of_a_clients_data_and_mix_like_the_models():
    # targets (0, 4) and 1 at w=1: gradients −1 and 0; by samples ⅔ and ⅓; s = ½ · −⅔
    clients = [[0.0, 4.0], [1.0]]
    rules = {"batch": 1, "steps": 1, "weights": "samples"}
    state = progress(clients, 1.0, [MimeLite(0.5)], **rules)
    assert close(state.server[0]["s"], -1 / 3)


def test_weight_decay_stays_outside():
    # wd 0.1, one step: ½ · 1 + 0.1; s = ½ · 1
    state = progress([[0.0]], 1.0, [MimeLite(0.5)], weight_decay=0.1)
    assert close(state.global_model.w, 0.94)
    assert close(state.server[0]["s"], 0.5)


def test_one_full_step_is_dampened_momentum_on_the_mean_gradient():
    # H = 1, everyone, all data: x moves by s_{t+1} = β s_t + (1−β) ∇f
    w, s = 4.0, 0.0
    for _ in range(5):
        s = 0.9 * s + 0.1 * (w - 5 / 3)
        w -= 0.1 * s
    assert close(final(train(CLIENTS, 4.0, [MimeLite(0.9)], rounds=5)), w)


def test_beta_zero_is_fedavg():
    rules = {"epochs": 2, "batch": 2, "rounds": 4, "weight_decay": 0.1}
    plain = train(CLIENTS, 1.0, **rules).weights
    assert torch.equal(train(CLIENTS, 1.0, [MimeLite(0.0)], **rules).weights, plain)


def twin(s, beta):
    """Algorithm 1 of the Mime paper, MimeLite's branch, SGDm; weight decay added to the step."""
    state = {"s": np.zeros_like(s.w0)}

    def one_round(t, cohort, p, x):
        ys, full = [], []
        for i in cohort:
            y = x
            for rows in s.batches(t, i):
                u = (1 - beta) * s.gradient(y, rows) + beta * state["s"]
                y = y - s.eta(t) * (u + s.weight_decay * y)
            ys.append(y)
            full.append(s.gradient(x, s.rows[i]))
        state["s"] = (1 - beta) * reference.mix(p, full) + beta * state["s"]
        return reference.mix(p, ys)

    return reference.rounds(s, one_round)


@pytest.mark.parametrize("beta", [0.5, 0.9])
def test_numpy_reference(beta):
    for by_samples in (False, True):
        s = reference.problem(by_samples=by_samples)
        got = trajectory(s, (MimeLite(beta),))
        np.testing.assert_allclose(got, twin(s, beta), rtol=1e-8, atol=1e-10)

"""Ditto: the own models by hand, the global one FedAvg's, and a NumPy reference."""

import numpy as np
import pytest
import torch

from fedbench.methods.ditto import Ditto
from tests.methods.one_weight import close, train
from tests.methods.recording import progress

EXTRA = [{"lam": 0.0}]
NEUTRAL = [{}, {"lam": 0.0}]  # of the global model, which the own ones do not touch
UNCOUNTED = {}

CLIENTS = [[2.0, 1.0, 0.0], [-2.0], [5.0, 7.0]]
RULES = {"epochs": 2, "rounds": 4, "lr_decay": 0.9}


def test_two_steps_by_hand():
    # target 4, w = x = v = 1, λ = ½, lr 0.1: v = 1 + 0.3 = 1.3; v = 1.3 + 0.1 (2.7 − 0.15) = 1.555
    state = progress([[4.0]], 1.0, [Ditto(0.5)], steps=2)
    assert close(state.clients[0][0]["own"], 1.555)
    assert close(state.global_model.w, 4 - 3 * 0.81)


@pytest.mark.parametrize("lam", [0.0, 0.3, 2.0])
def test_own_models_by_a_loop_of_their_own(lam):
    state = progress(CLIENTS, 1.0, [Ditto(lam)], **RULES)
    x, v, lr = 1.0, [1.0] * 3, 0.1
    for _ in range(4):
        ys = []
        for i, targets in enumerate(CLIENTS):
            y, a = x, np.mean(targets)
            for _ in range(2):
                y -= lr * (y - a)
                v[i] -= lr * (v[i] - a + lam * (v[i] - x))
            ys.append(y)
        x, lr = np.mean(ys), 0.9 * lr
    assert [float(state.clients[i][0]["own"]) for i in range(3)] == pytest.approx(v, abs=1e-12)


def test_the_global_model_is_fedavg_s_to_the_bit():
    plain = train(CLIENTS, 1.0, **RULES).weights
    assert torch.equal(train(CLIENTS, 1.0, [Ditto()], **RULES).weights, plain)

"""MFL: momentum that survives the round, worked by hand, its invariants, the NumPy reference."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from fedbench import Dataset, RunSpec, run
from fedbench.engine.rounds import batches
from fedbench.methods.mfl import MFL
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import blocks, close, final, train

NEEDS = {"momentum": 0.0}
EXTRA = [
    {"dampened": True},
    {"inherit": 0.1},
    *({"buffer": name} for name in ("chained", "none", "reset", "client_stale")),
]
NEUTRAL = [{"beta": 0}, {"beta": 0, "dampened": True}, {"buffer": "none"}]

CLIENTS = [[2.0, 1.0, 0.0], [-2.0], [5.0, 7.0]]


def weights(clients, *options, rounds=2, **settings):
    """The weight after 1, 2, … rounds."""
    return [final(train(clients, *options, rounds=t + 1, **settings)) for t in range(rounds)]


def test_two_rounds_by_hand():
    # β=½, lr 0.1, w=1. Target 0: v = 1, w = 0.9; v = 0.5 + 0.9 = 1.4, w = 0.76
    # Target 1: v = 0, w = 1; v = 0, w = 1.          x_1 = 0.88, V = 0.7
    # Round 2 from v = 0.7. Target 0: v = 0.35 + 0.88 = 1.23, w = 0.757; v = 1.372, w = 0.6198
    # Target 1: v = 0.35 − 0.12 = 0.23, w = 0.857; v = 0.115 − 0.143 = −0.028, w = 0.8598
    rules = {"steps": 2}
    x = weights([[0.0], [1.0]], 1.0, [MFL(0.5)], **rules)
    assert close(x, 0.88, (0.6198 + 0.8598) / 2)


def test_buffer_options_by_hand():
    # One client, β=½, lr 0.1, one step a round, w=1, target 0: V after round 1 is 1, x_1 = 0.9.
    # Round 2: g = 0.9; v = ½ V' + g with V' what the round starts from.
    rules = {"steps": 1, "rounds": 2}
    second = {
        "aggregated": 0.9 - 0.14,
        "client_stale": 0.9 - 0.14,
        "chained": 0.9 - 0.14,
        "reset": 0.81,
        "none": 0.81,
    }
    for buffer, expected in second.items():
        result = train([[0.0]], 1.0, [MFL(0.5, buffer=buffer)], **rules)
        assert close(final(result), expected), buffer


def test_reset_has_local_momentum_and_none_has_not():
    # two steps: v = 1, 0.9; v = 1.4, 0.76 against 0.9, 0.81; reset is FedAvg with momentum ½
    rules = {"steps": 2}
    assert close(final(train([[0.0]], 1.0, [MFL(0.5, buffer="reset")], **rules)), 0.76)
    assert close(final(train([[0.0]], 1.0, [MFL(0.5, buffer="none")], **rules)), 0.81)
    rules = {"epochs": 2, "batch": 2, "rounds": 3, "weight_decay": 0.1, "clip": 1.0}
    reset = train(CLIENTS, 1.0, [MFL(0.9, buffer="reset")], **rules).weights
    none = train(CLIENTS, 1.0, [MFL(0.9, buffer="none")], **rules).weights
    assert torch.allclose(reset, train(CLIENTS, 1.0, momentum=0.9, **rules).weights, rtol=1e-14)
    assert torch.equal(none, train(CLIENTS, 1.0, **rules).weights)


def test_chained_goes_from_client_to_client_and_from_round_to_round():
    # β=½, lr 0.1, targets 0 and 1, one step. Client 0: v = 1, y = 0.9. Client 1: v = ½·1 + 0 = ½,
    # y = 0.95. x_1 = 0.925. Client 0: v = ¼ + 0.925 = 1.175, y = 0.8075.
    # Client 1: v = 0.5875 − 0.075 = 0.5125, y = 0.87375. x_2 = 0.840625
    x = weights([[0.0], [1.0]], 1.0, [MFL(0.5, buffer="chained")], steps=1)
    assert close(x, 0.925, 0.840625)


def test_client_stale_is_the_clients_own_buffer():
    # Client 0: v = 1, y = 0.9; client 1: v = 0, y = 1; x_1 = 0.95.
    # Client 0: v = ½ + 0.95, y = 0.805; client 1: v = −0.05, y = 0.955; x_2 = 0.88
    # the mean buffer ½ would give v = 1.2 and 0.2: x_2 = 0.95 − 0.07 = 0.88 too at H=1 …
    x = weights([[0.0], [1.0]], 1.0, [MFL(0.5, buffer="client_stale")], steps=1)
    assert close(x, 0.95, 0.88)
    # … but not with two steps on one side (batch 1, two samples against one)
    rules = {"batch": 1, "rounds": 2}
    clients = [[0.0, 0.0], [1.0]]
    stale = final(train(clients, 1.0, [MFL(0.5, buffer="client_stale")], **rules))
    # client 0: v 1, y .9; v 1.4, y .76. client 1: v 0, y 1. x = .88
    # client 0: v .7 + .88 = 1.58, y .722; v .79 + .722 = 1.512, y .5708
    # client 1: v −.12, y .892
    assert close(stale, (0.5708 + 0.892) / 2)
    # aggregated V = 0.7 for both: 1.23 → .757, .615 + .757 = 1.372 → .6198; .35 − .12 → .857
    mean = final(train(clients, 1.0, [MFL(0.5)], **rules))
    assert close(mean, (0.6198 + 0.857) / 2)


def test_dampened_and_inherit_by_hand():
    rules = {"steps": 1, "rounds": 2}
    # dampened: v = ½ · 0 + ½ · 1 = ½, w = 0.95; v = ¼ + ½ · 0.95 = 0.725, w = 0.8775
    assert close(final(train([[0.0]], 1.0, [MFL(0.5, dampened=True)], **rules)), 0.8775)
    # inherit ½: w = 0.9, v = ½ · (½ · 1) + 0.9 = 1.15, w = 0.785
    assert close(final(train([[0.0]], 1.0, [MFL(0.5, inherit=0.5)], **rules)), 0.785)


def test_buffers_are_mixed_like_the_models():
    # n_k weights ¾ and ¼: targets 0 (three samples) and 1. V = ¾ · 1, x_1 = 1 − 0.075 = 0.925
    # v = .375 + .925 = 1.3 → .795; v = .375 − .075 = .3 → .895: x_2 = .82
    clients = [[0.0] * 3, [1.0]]
    x = weights(clients, 1.0, [MFL(0.5)], steps=1, weights="samples")
    assert close(x, 0.925, 0.75 * 0.795 + 0.25 * 0.895)


@pytest.mark.parametrize("buffer", ["aggregated", "chained", "reset", "client_stale"])
def test_beta_zero_is_fedavg(buffer):
    rules = {"epochs": 2, "batch": 2, "rounds": 4, "weight_decay": 0.1}
    plain = train(CLIENTS, 1.0, **rules).weights
    assert torch.equal(train(CLIENTS, 1.0, [MFL(0.0, buffer=buffer)], **rules).weights, plain)


def cloud():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(23, 4)).astype(np.float32)
    return Dataset("cloud", x, rng.integers(0, 3, 23), x, rng.integers(0, 3, 23), 3)


@pytest.mark.parametrize("buffer", ["aggregated", "chained", "client_stale"])
def test_one_client_has_the_bits_of_uninterrupted_sgd_with_momentum(cpu, buffer):
    data, options = cloud(), {"weight_decay": 0.01}
    torch.manual_seed(3)
    model = nn.Linear(4, 3, bias=False)
    spec = RunSpec(clients=1, rounds=5, epochs=2, batch=5, lr=0.1, **options)
    share = {"data": data, "model": model, "partition": blocks([23])}
    part = MFL(0.9, buffer=buffer)
    got = run(spec, machine=cpu, parts=(part,), **share).weights
    x, y = torch.as_tensor(data.x_train), torch.as_tensor(data.y_train)
    optimiser = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, **options)  # made once
    for t in range(5):
        for rows in batches(0, t, 0, torch.arange(23), 5, 2, None):
            optimiser.zero_grad()
            F.cross_entropy(model(x[rows]), y[rows]).backward()
            optimiser.step()
    assert torch.equal(got, model.weight.detach().flatten())


def test_identical_clients_are_one_client_up_to_rounding():
    one = train([[0.0]], 1.0, [MFL(0.9)], steps=3, rounds=4)
    three = train([[0.0]] * 3, 1.0, [MFL(0.9)], steps=3, rounds=4)
    assert close(three.weights, final(one))


def test_one_full_step_is_heavy_ball_on_the_mean_gradient():
    # Mean targets 1, −2 and 6 → mean gradient w − 5/3, whatever the sizes (uniform weights)
    w, v = 4.0, 0.0
    expected = []
    for _ in range(6):
        v = 0.9 * v + (w - 5 / 3)
        w -= 0.1 * v
        expected.append(w)
    got = weights(CLIENTS, 4.0, [MFL(0.9)], rounds=6, steps=1)
    assert close(got, *expected)


@pytest.mark.parametrize("by_samples", [False, True])
@pytest.mark.parametrize("beta", [0.0, 0.5, 0.9])
def test_numpy_reference(beta, by_samples):
    s = reference.problem(by_samples=by_samples, lr=0.1)
    got = trajectory(s, (MFL(beta),))
    np.testing.assert_allclose(got, reference.mfl(s, beta), rtol=1e-8, atol=1e-10)

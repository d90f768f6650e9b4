"""FedBABU: one layer is trained by hand and by NumPy; the head stands still, beside others too."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from fedbench import Machine, RunSpec, run
from fedbench.base import registry
from fedbench.methods.fedbabu import FedBABU
from fedbench.models.architecture import BodyHead
from tests.methods import reference
from tests.methods.loss_terms import one_hot, softmax
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import line

EXTRA = []
NEUTRAL = []  # it has no parameter

CPU = Machine(device="cpu", workers=1)
WIDTH = 3


def two_weights(body, head):
    """The model z = head · body · x."""
    module = BodyHead(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)).double()
    nn.init.constant_(module.body.weight, body)
    nn.init.constant_(module.head.weight, head)
    return module


def by_hand(**settings):
    spec = RunSpec(clients=1, rounds=1, batch=None, lr=0.1, precision="float64", **settings)
    rows = [np.array([0])]
    objects = {"data": line([0.0]), "model": two_weights(1.0, 2.0), "partition": rows}
    return run(spec, machine=CPU, parts=(FedBABU(),), **objects).weights.tolist()


def test_two_steps_by_hand():
    # z = 2 y x, target 0: the body's gradient is 4 y: 1, 0.6, 0.36; the head stays 2
    assert by_hand(steps=2) == pytest.approx([0.36, 2.0], abs=1e-12)


def test_weight_decay_and_clipping_do_not_see_the_head():
    # 4 + ½ · 1: 0.55; with the head, whose gradient is 2, the norm would be √20, and clipped
    assert by_hand(steps=1, weight_decay=0.5) == pytest.approx([0.55, 2.0], abs=1e-12)
    assert by_hand(steps=1, clip=4.0) == pytest.approx([0.6, 2.0], abs=1e-6)
    assert by_hand(steps=1, clip=1.0) == pytest.approx([0.9, 2.0], abs=1e-6)


def network():
    """tanh(W x) with three features, then a head with a bias."""
    torch.manual_seed(1)
    body = nn.Sequential(nn.Linear(5, WIDTH, bias=False), nn.Tanh())
    return BodyHead(body, nn.Linear(WIDTH, 4)).double()


def problem(**changes):
    """The reference's setting, of which x_0 is that of `network`."""
    start = nn.utils.parameters_to_vector(network().parameters()).detach().numpy()
    return replace(reference.problem(**changes), w0=start)


def twin(s, sgd=None):
    """Algorithm 1: only W moves, by the gradient through the fixed head A, b."""
    module = network()
    A, b = (p.detach().numpy() for p in module.head.parameters())
    start = module.body[0].weight.detach().numpy()

    def one_round(t, cohort, p, x):
        ys = []
        for i in cohort:
            y, step = x, reference.local_sgd(**(sgd or {}))
            for rows in s.batches(t, i):
                inputs = s.x[rows]
                h = np.tanh(inputs @ y.T)
                dz = (softmax(h @ A.T + b) - one_hot(s.y[rows])) / len(rows)
                g = (dz @ A * (1 - h**2)).T @ inputs
                y = y - s.eta(t) * step(g + s.weight_decay * y)
            ys.append(y)
        return reference.mix(p, ys)

    bodies = reference.rounds(replace(s, w0=start), one_round)
    return np.array([np.concatenate([w.ravel(), A.ravel(), b]) for w in bodies])


@pytest.mark.parametrize("sgd", [{}, {"momentum": 0.5}, {"momentum": 0.5, "nesterov": True}])
def test_numpy_reference(sgd):
    for by_samples in (False, True):
        s = problem(by_samples=by_samples)
        got, want = trajectory(s, (FedBABU(),), network(), **sgd), twin(s, sgd)
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10)
        assert np.abs(want[-1] - trajectory(s, (), network(), **sgd)[-1]).max() > 1e-2


@pytest.mark.parametrize(
    "name",
    ["fedacg", "fedadam", "fedadc", "feddyn", "fedprox", "fedsam", "mfl", "mimelite", "rmfl"],
)
@pytest.mark.parametrize("before", [True, False])
def test_beside_other_methods_too_the_head_stands_still(name, before):
    other = registry.build("method", name, {})
    parts = (FedBABU(), other) if before else (other, FedBABU())
    head = torch.cat([p.detach().flatten() for p in network().head.parameters()]).numpy()
    frames = trajectory(problem(), parts, network())
    np.testing.assert_allclose(frames[:, -len(head) :], np.tile(head, (6, 1)), rtol=0, atol=1e-12)
    assert np.abs(frames[-1] - frames[0]).max() > 1e-3

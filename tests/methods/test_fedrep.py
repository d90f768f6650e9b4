"""FedRep: which weights move in which step, by a loop of its own on a network of two layers."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from fedbench import Dataset, Machine, RunSpec
from fedbench.engine.assemble import assemble
from fedbench.engine.training import Training
from fedbench.methods.fedrep import FedRep
from fedbench.models.architecture import BodyHead

EXTRA = [{"head": 0.9}]
NEUTRAL = []

SIZES = [4, 6, 5]


def cloud():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(15, 3)), rng.integers(0, 2, 15)
    return Dataset("cloud", x, y, x, y, classes=2)


def network():
    torch.manual_seed(0)
    return BodyHead(nn.Sequential(nn.Linear(3, 4), nn.Tanh()), nn.Linear(4, 2)).double()


def trained(head, steps, rounds=3):
    spec = RunSpec(
        clients=3, rounds=rounds, steps=steps, batch=None, lr=0.3, precision="float64",
    )  # fmt: skip
    rows = np.split(np.arange(15), np.cumsum(SIZES)[:-1])
    objects = {"data": cloud(), "model": network(), "partition": rows, "parts": (FedRep(head),)}
    training = Training(
        assemble(spec, objects, Machine(device="cpu", workers=1), None),
        Machine(device="cpu", workers=1),
    )
    while not training.over:
        training.round()
    return training.progress


def flat(module):
    return torch.cat([p.detach().flatten() for p in module.parameters()])


@pytest.mark.parametrize(
    # 0.56 · 25 = 14, in floating point a little more
    ("head", "steps", "first"),
    [(0.5, 4, 2), (0.9, 4, 3), (0.1, 4, 1), (1, 1, 1), (0.56, 25, 14)],
)
def test_head_first_then_body_and_only_the_body_is_averaged(head, steps, first):
    data, rows = cloud(), np.split(np.arange(15), np.cumsum(SIZES)[:-1])
    shared, heads = network(), [network().head for _ in range(3)]
    for _ in range(3):
        bodies = []
        for i, held in enumerate(rows):
            own = copy.deepcopy(shared)
            own.head = heads[i]
            x, y = torch.as_tensor(data.x_train[held]), torch.as_tensor(data.y_train[held])
            for k in range(steps):
                moving = own.head if k < first else own.body
                loss = F.cross_entropy(own(x), y)
                gradients = torch.autograd.grad(loss, list(moving.parameters()))
                with torch.no_grad():
                    for p, g in zip(moving.parameters(), gradients, strict=True):
                        p -= 0.3 * g
            bodies.append(flat(own.body))
        with torch.no_grad():
            mean = torch.stack(bodies).mean(0)
            nn.utils.vector_to_parameters(mean, shared.body.parameters())
    progress = trained(head, steps)
    assert torch.allclose(progress.global_model.w, flat(shared), atol=1e-12)
    for i in range(3):
        own = progress.clients[i][0]["own"]
        assert torch.allclose(own[-10:], flat(heads[i]), atol=1e-12)
        assert torch.allclose(own[:-10], bodies[i], atol=1e-12)

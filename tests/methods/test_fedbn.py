"""FedBN: normalisation layers stay at the clients, by a loop of its own; else it is FedAvg."""

import copy

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from fedbench import Dataset, Machine, RunSpec
from fedbench.engine.assemble import assemble
from fedbench.engine.training import Training
from fedbench.methods.fedbn import FedBN

EXTRA = []
NEUTRAL = [{}]  # the network of these tests has no normalisation layer

SIZES = [4, 6, 5]
CPU = Machine(device="cpu", workers=1)


def cloud():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(15, 3)), rng.integers(0, 2, 15)
    x[4:10] += 2.0  # the second client's features are shifted
    return Dataset("cloud", x, y, x, y, classes=2)


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)).double()


def test_three_rounds_by_a_loop_of_its_own():
    data, rows = cloud(), np.split(np.arange(15), np.cumsum(SIZES)[:-1])
    spec = RunSpec(clients=3, rounds=3, steps=2, batch=None, lr=0.3, precision="float64")
    objects = {"data": data, "model": network(), "partition": rows, "parts": (FedBN(),)}
    training = Training(assemble(spec, objects, CPU, None), CPU)
    while not training.over:
        training.round()
    shared, norms = network(), [network()[1] for _ in range(3)]
    for _ in range(3):
        trained = []
        for i, held in enumerate(rows):
            own = copy.deepcopy(shared)
            own[1] = norms[i]
            x, y = torch.as_tensor(data.x_train[held]), torch.as_tensor(data.y_train[held])
            for _ in range(2):
                gradients = torch.autograd.grad(F.cross_entropy(own(x), y), [*own.parameters()])
                with torch.no_grad():
                    for p, g in zip(own.parameters(), gradients, strict=True):
                        p -= 0.3 * g
            trained.append(own)
        with torch.no_grad():
            for name, value in shared.named_parameters():
                value.copy_(
                    torch.stack([dict(m.named_parameters())[name] for m in trained]).mean(0)
                )
    for i, own in enumerate(trained):
        kept = training.progress.clients[i][0]
        flat = torch.cat([p.detach().flatten() for p in own.parameters()])
        assert torch.allclose(kept["own"], flat, atol=1e-12)
        statistics = [kept[f"own/{name}"] for name in kept_names(kept)]
        assert torch.allclose(statistics[0], own[1].running_mean, atol=1e-12)
        assert torch.allclose(statistics[1], own[1].running_var, atol=1e-12)
    means = [m[1].running_mean for m in trained]
    assert not torch.allclose(means[0], means[1])
    whole = torch.cat([p.detach().flatten() for p in shared.parameters()])
    assert torch.allclose(training.progress.global_model.w, whole, atol=1e-12)


def kept_names(kept):
    """Of the running mean and variance, in this order."""
    names = [key.removeprefix("own/") for key in kept if "/" in key]
    return sorted(name for name in names if "running" in name)

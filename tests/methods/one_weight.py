"""Runs that one can follow by hand: a model with one weight w, samples x = 1 with target a.

The loss ½ (w − a)² has the gradient w − a, and a batch the gradient w − (mean of its targets).
"""

import itertools

import numpy as np
import torch
from torch import nn

from fedbench import Dataset, Machine, RunSpec, run

# Local optimisers, and how far H steps go along a constant gradient of 1: their ‖a‖₁
MOMENTUM = {"momentum": 0.5}  # 1, 1.5, 1.75: 2.5 for H = 2, 4.25 for H = 3
DAMPENED = {"momentum": 0.5, "dampening": 0.25}  # 1, ½ + ¾ = 1.25, 0.625 + ¾ = 1.375: 2.25, 3.625
NESTEROV = {"momentum": 0.5, "nesterov": True}  # 1 + half of MOMENTUM's: 3.25, 5.125

LINE = {"batch": None, "rounds": 1, "lr": 0.1, "precision": "float64"}


def line(targets):
    """A data set of one sample a target; training and test set are the same."""
    x, y = np.ones((len(targets), 1)), np.array(targets, dtype=np.float64)
    return Dataset("line", x, y, x, y, classes=0)


def weight(w=0.0):
    """The model z = w x."""
    model = nn.Linear(1, 1, bias=False, dtype=torch.float64)
    nn.init.constant_(model.weight, w)
    return model


def blocks(sizes):
    """Client i owns the next sizes[i] rows."""
    ends = list(itertools.accumulate(sizes, initial=0))
    return [np.arange(a, b) for a, b in itertools.pairwise(ends)]


def objects(clients, w=0.0):
    """The objects of a run in which client i holds the targets clients[i]."""
    return {
        "data": line([a for targets in clients for a in targets]),
        "model": weight(w),
        "partition": blocks([len(targets) for targets in clients]),
    }


def train(clients, w=0.0, parts=(), watch=None, **settings):
    """The result of a one-weight run; the whole of a client's data is one batch by default."""
    spec = RunSpec(**{"clients": len(clients), **LINE, **settings})
    machine = Machine(device="cpu", workers=1)
    return run(spec, machine=machine, watch=watch, parts=tuple(parts), **objects(clients, w))


def final(result):
    """The one weight after the last round."""
    return float(result.weights[0])


def close(value, *expected):
    """Equal to what was worked out by hand, up to rounding."""
    got = torch.as_tensor(value, dtype=torch.float64).flatten()
    wanted = torch.tensor(expected, dtype=torch.float64)
    return got.shape == wanted.shape and torch.allclose(got, wanted, rtol=1e-9, atol=1e-12)

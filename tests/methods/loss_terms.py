"""For tests of loss terms: batches of hand-made logits; training in NumPy from dL/dz alone."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import torch

from fedbench import Dataset
from fedbench.core.flat_network import Model
from fedbench.core.round_data import Batch
from fedbench.data.partition import hold_out
from fedbench.engine.problem import cross_entropy
from tests.methods import reference
from tests.methods.on_reference import trajectory


def tensor(rows):
    return torch.as_tensor(rows, dtype=torch.float64)


class Echo:
    """A network whose logits and features are the weights themselves."""

    def eval(self, model, x):
        z = model.w.reshape(len(x), -1)
        return z, z


def model(logits):
    """A model that gives these logits."""
    return Model(tensor(logits), {})


def batch(student, y, teacher=None):
    """A batch of which the student has these logits and the global model those."""
    z = tensor(student)
    global_model = model(z.detach() if teacher is None else teacher)
    return Batch(
        x=z, y=torch.as_tensor(y), logits=z, features=z, w=z, net=Echo(),
        global_model=global_model, criterion=cross_entropy,
    )  # fmt: skip


def turn(labels, round_=1, **more):
    """A client with these label counts."""
    labels = tensor(labels)
    states = {"msg": {}, "mine": {}, "run": {}, "up": {}, **more}
    return SimpleNamespace(labels=labels, n=labels.sum(), round=round_, **states)


def term(part, b, t=None, value=0.0):
    """What the part makes of a loss."""
    return part.loss(tensor(value), b, t or turn([1.0] * b.logits.shape[1]))


def slope(part, student, y, t=None, teacher=None):
    """Gradient (B, C) of the part's term at the student's logits."""
    z = tensor(student).clone().requires_grad_()
    b = batch(student, y, teacher)
    b.logits = z
    (g,) = torch.autograd.grad(term(part, b, t), z)
    return g


def softmax(z):
    """Row by row, in NumPy."""
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def one_hot(y, classes=4):
    return np.eye(classes)[y]


def local(s, t, i, x, dz):
    """y_i^H where `dz(z, y, rows)` (B, C) is the gradient of the batch's loss at its logits."""
    w = x.copy()
    for rows in s.batches(t, i):
        inputs = s.x[rows]
        g = dz(inputs @ w.T, s.y[rows], rows).T @ inputs
        w = w - s.eta(t) * (g + s.weight_decay * w)
    return w


def shares(s, i):
    """Client i's share of each of four classes."""
    return np.bincount(s.y[s.rows[i]], minlength=4) / len(s.rows[i])


def cross_entropy_slope(z, y):
    """Gradient (B, C) of the batch's mean cross-entropy at its logits."""
    return (softmax(z) - one_hot(y)) / len(y)


def train_with(s, dz):
    """x_1 … x_T where client i's loss has the gradient `dz(i, t, x, z, y, rows)` at its logits."""

    def one_round(t, cohort, p, x):
        def train(i):
            return local(s, t, i, x, lambda z, y, rows: dz(i, t, x, z, y, rows))

        return reference.mix(p, [train(i) for i in cohort])

    return reference.rounds(s, one_round)


def agree(s, parts, want, **settings):
    """fedbench gives the trajectory `want`, and that is not FedAvg's."""
    assert np.abs(want[-1] - reference.fedavg(s)[-1]).max() > 1e-4, "the method must matter"
    got = trajectory(s, parts, **settings)
    np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10)


def held_out(share, **changes):
    """The reference's setting less the rows that a run holds out, and those rows."""
    s = reference.problem(**changes)
    data = Dataset("reference", s.x, s.y, s.x, s.y, classes=4)
    _, out = hold_out(data, share, s.seed)
    return replace(s, rows=[np.setdiff1d(rows, out) for rows in s.rows]), out

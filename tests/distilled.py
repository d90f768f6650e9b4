"""What tests of loss terms share: batches of hand-made logits, and local descent given dL/dz."""

from types import SimpleNamespace

import numpy as np
import torch

from fedbench.flat import Model
from fedbench.part import Batch


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


def batch(student, y, teacher=None, mask=None):
    """A batch of which the student has these logits and the global model those."""
    z = tensor(student)
    world = model(z.detach() if teacher is None else teacher)
    mask = None if mask is None else tensor(mask)
    return Batch(z, torch.as_tensor(y), z, z, z, Echo(), world, mask)


def turn(labels, round_=1, **more):
    """A client with these label counts."""
    labels = tensor(labels)
    states = {"msg": {}, "mine": {}, "run": {}, "up": {}, **more}
    return SimpleNamespace(labels=labels, n=labels.sum(), round=round_, **states)


def term(part, b, t=None, value=0.0):
    """What the part makes of a loss."""
    return part.loss(tensor(value), b, t or turn([1.0] * b.logits.shape[1]))


def slope(part, student, y, t=None, teacher=None, mask=None):
    """Gradient (B, C) of the part's term at the student's logits."""
    z = tensor(student).clone().requires_grad_()
    b = batch(student, y, teacher, mask)
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

"""Trains with fedbench what `reference.py` trains in plain NumPy, so that both can be compared."""

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn

from fedbench import Dataset, Machine, Part, RunSpec, Work, run


def trajectory(s, parts, model=None, **settings):
    """The global models x_1 … x_T of fedbench on the reference's setting, each shaped like x_0.

    model: a network in place of the softmax regression; the setting's x_0 is then its flat weights.
    """
    data = Dataset("reference", s.x, s.y, s.x, s.y, classes=4)
    if model is None:
        model = nn.Linear(5, 4, bias=False, dtype=torch.float64)
        model.weight.data = torch.as_tensor(s.w0).clone()
    spec = RunSpec(
        clients=len(s.rows),
        participation=s.sampled / len(s.rows),
        rounds=s.rounds,
        epochs=s.epochs,
        batch=s.batch,
        lr=s.lr,
        lr_decay=s.decay,
        weight_decay=s.weight_decay,
        weights="samples" if s.by_samples else "uniform",
        seed=s.seed,
        precision="float64",
        **settings,
    )
    film = Film()
    rules = {"partition": s.rows, "parts": (*parts, film)}
    rules |= {"work": ByClient(s.work)} if s.work else {}
    run(spec, machine=Machine(device="cpu", workers=1), data=data, model=model, **rules)
    return np.array([w.numpy().reshape(s.w0.shape) for w in film.frames])


@dataclass(frozen=True)
class ByClient(Work):
    """Each client makes its own number of epochs."""

    epochs: tuple[int, ...]

    def __call__(self, clients, most, rng):
        return np.array([self.epochs[i] for i in clients])


@dataclass(frozen=True)
class Film(Part):
    """Keeps the global model of every evaluated round."""

    frames: list = field(default_factory=list)

    def evaluate(self, w, r):
        self.frames.append(w)
        return {}

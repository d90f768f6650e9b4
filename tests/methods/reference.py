"""Plain NumPy federated learning, written from the papers' pseudo-code and from nothing else.

Only which samples form a batch and who takes part is shared with fedbench. A method is a function
of the setting that returns the global models x_1 … x_T; `descend` is the local loop that most need.
"""

from dataclasses import dataclass

import numpy as np
import torch

from fedbench.base import seeds
from fedbench.engine.rounds import batches
from fedbench.sampling.sampler import Uniform


@dataclass(frozen=True)
class Setting:
    """Softmax regression without bias: weights W (C, F), loss −log softmax(W x)_y."""

    x: np.ndarray
    y: np.ndarray
    rows: list[np.ndarray]
    w0: np.ndarray
    rounds: int = 6
    sampled: int = 3
    batch: int = 4
    epochs: int = 2
    lr: float = 0.3
    decay: float = 0.95
    weight_decay: float = 0.01
    seed: int = 0
    by_samples: bool = False
    work: tuple[int, ...] | None = None  # epochs by client; None: all make `epochs`

    def cohort(self, t):
        """S_t."""
        rng = seeds.numpy_generator(self.seed, t, -1, "cohort")
        return Uniform()(rng, len(self.rows), self.sampled / len(self.rows), None)

    def batches(self, t, i):
        """Client i's batches in round t, as row numbers."""
        rows = torch.as_tensor(self.rows[i])
        found = batches(
            self.seed, t, i, rows, self.batch, self.work[i] if self.work else self.epochs, None
        )
        return [b.numpy() for b in found]

    def eta(self, t):
        """η_t."""
        return self.lr * self.decay**t

    def p(self, cohort):
        """Mixing weights."""
        n = np.array([len(self.rows[i]) if self.by_samples else 1 for i in cohort], float)
        return n / n.sum()

    def gradient(self, w, rows):
        """Gradient of the mean loss of some rows at W, without weight decay."""
        z = self.x[rows] @ w.T
        q = np.exp(z - z.max(axis=1, keepdims=True))
        q /= q.sum(axis=1, keepdims=True)
        q[np.arange(len(rows)), self.y[rows]] -= 1
        return q.T @ self.x[rows] / len(rows)


def problem(**changes):
    """Six clients with 3, 5, 8, 9, 11 and 14 samples of four classes, five features.

    Where the clients' models count by their samples, the clients do unequal work, too.
    """
    rng = np.random.default_rng(42)
    sizes = [3, 5, 8, 9, 11, 14]
    x, y = rng.normal(size=(sum(sizes), 5)), rng.integers(0, 4, sum(sizes))
    y[: sizes[0] + sizes[1]] = 1  # the two smallest know one class only
    rows = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    changes = {"work": (2, 1, 3, 1, 2, 4) if changes.get("by_samples") else None, **changes}
    return Setting(x, y, rows, 0.1 * rng.normal(size=(4, 5)), **changes)


def descend(s, t, i, start, direction):
    """y after client i's local steps y ← y − η_t · direction(y, g), g with weight decay."""
    y = start.copy()
    for rows in s.batches(t, i):
        g = s.gradient(y, rows) + s.weight_decay * y
        y = y - s.eta(t) * direction(y, g)
    return y


def local_sgd(momentum=0.0, dampening=0.0, nesterov=False):
    """A client's steps in a round, as PyTorch's documentation of SGD has them: g → step."""
    buffer = None

    def step(g):
        nonlocal buffer
        buffer = g if buffer is None else momentum * buffer + (1 - dampening) * g
        return g + momentum * buffer if nesterov else buffer

    return step


def effective_steps(H, **sgd):
    """‖a‖₁: how far H steps go along a constant gradient of 1."""
    step = local_sgd(**sgd)
    return sum(step(1.0) for _ in range(H))


def rounds(s, one_round):
    """x_1 … x_T, where x_{t+1} = one_round(t, S_t, p, x_t)."""
    x, found = s.w0, []
    for t in range(s.rounds):
        cohort = s.cohort(t)
        x = one_round(t, cohort, s.p(cohort), x)
        found.append(x)
    return np.array(found)


def mix(p, values):
    """Σ p_i v_i."""
    return np.tensordot(p, np.array(values), axes=1)


def fedavg(s):
    """McMahan et al. 2017, algorithm 1."""

    def one_round(t, cohort, p, x):
        return mix(p, [descend(s, t, i, x, lambda y, g: g) for i in cohort])

    return rounds(s, one_round)


def fedprox(s, mu):
    """Li et al. 2020: the local objective gains μ/2 ‖y − x‖²."""

    def one_round(t, cohort, p, x):
        return mix(p, [descend(s, t, i, x, lambda y, g: g + mu * (y - x)) for i in cohort])

    return rounds(s, one_round)


def mfl(s, beta, upload=None):
    """Liu et al. 2020: v ← β v + g from the server's V; `upload(V, gradients)` replaces v^H."""
    state = {"V": np.zeros_like(s.w0)}

    def one_round(t, cohort, p, x):
        ys, vs = [], []
        for i in cohort:
            v, gradients = state["V"], []

            def direction(y, g, gradients=gradients):
                nonlocal v
                gradients.append(g)
                v = beta * v + g
                return v

            ys.append(descend(s, t, i, x, direction))
            vs.append(upload(state["V"], gradients) if upload else v)
        state["V"] = mix(p, vs)
        return mix(p, ys)

    return rounds(s, one_round)


def rmfl(s, beta, reading):
    """Xiao & Wang, equation 3, in the five readings of the specification; gradients g_1 … g_H."""

    def upload(V, g):
        H = len(g)
        if reading == "r1":
            terms = [(1 - beta) * V] + [(1 - beta) * beta**k * g[k - 1] for k in range(1, H)]
            return sum(terms) + beta**H * g[H - 1]
        if reading in ("lit", "lit0"):
            inherited = (1 - beta) * V if reading == "lit" else 0 * V
            early = [(1 - beta) * beta**k * g[k] for k in range(H - 1)]
            return inherited + sum(early) + beta ** (H - 1) * g[H - 1]
        scale = 1 - beta if reading == "r2" else 1
        return beta**H * V + scale * sum(beta**k * g[k] for k in range(H))

    return mfl(s, beta, upload)

"""How clients' gradients drift apart over a round's local steps (RMFL paper, Figs. 3 to 5)."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from fedbench.analysis.replay import replay
from fedbench.base import seeds
from fedbench.core.rng import seeded
from fedbench.core.round import Round
from fedbench.core.spill import Spill
from fedbench.engine.probe import Cells
from fedbench.engine.problem import Problem
from fedbench.engine.turns import PreparedClient, full_gradient

MEASURES = ("cosine", "projection", "spread", "bias")
_GB = 4.0  # of gradients are held in memory; more are mapped from disk


def aligned(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """cos(v_i, v̄) and (v_i·v̄)/‖v̄‖ of vectors (n, d) against their mean v̄, each (n,), float64."""
    v = vectors.double()
    mean = v.mean(0)
    along = v @ mean / mean.norm()
    return along / v.norm(dim=1), along


def spread(vectors: Tensor) -> float:
    """The largest ‖v_i − v_j‖ among vectors (n, d); 0 for a single one."""
    return float(torch.pdist(vectors.double()).max()) if len(vectors) > 1 else 0.0


def drift(trails: Mapping[int, Tensor], origin: Tensor) -> list[Cells]:
    """One row per step and client that makes it: client, step, and the four measures.

    trails: by client its gradients (H_i, d), the k-th at y_i^k; origin: ∇f(x_t). cosine and
    projection relate the gradient g to the mean over the clients at that step; spread is the
    largest distance of two gradients at that step; bias is ‖g − ∇f(x_t)‖.
    """
    rows: list[Cells] = []
    for k in range(max(len(g) for g in trails.values())):
        clients = [i for i, g in trails.items() if k < len(g)]
        g = torch.stack([trails[i][k] for i in clients]).to(origin.device).double()
        cosine, projection = aligned(g)
        bias, largest = (g - origin).norm(dim=1), spread(g)
        for i, *values in zip(clients, cosine, projection, bias, strict=True):
            c, p, b = (float(value) for value in values)
            measured = {"cosine": c, "projection": p, "spread": largest, "bias": b}
            rows.append({"client": i, "step": k, **measured})
    return rows


def trails(problem: Problem, r: Round, clients: Sequence[PreparedClient]) -> dict[int, Tensor]:
    """By client, the gradients of its local steps (H_i, d); on disk if they are large."""
    spill, gradients = Spill(_GB), {}
    for client, again in zip(clients, replay(problem, r, clients), strict=True):
        g = again.gradients
        gradients[client.client] = spill.table(len(g), g[0]).copy_(g)
    return gradients


def origin(problem: Problem, r: Round, clients: Sequence[int]) -> Tensor:
    """∇f(x_t) over all data of these clients (d,), float64, with the spec's mixing weights."""
    sizes = problem.fed.n[list(clients)].double()
    p = sizes if problem.spec.weights == "samples" else torch.ones_like(sizes)
    noise = seeds.number(problem.spec.seed, r.round, seeds.EVERYONE, "dropout")
    total = torch.zeros_like(r.w, dtype=torch.float64)
    with seeded(noise, problem.device):
        for i, share in zip(clients, p / p.sum(), strict=True):
            total += share * full_gradient(problem.task, r.buffers, problem.rows[i])(r.w)
    return total


def trends(rows: Sequence[Cells]) -> dict[str, float]:
    """Each measure's mean over clients and steps, and its least-squares slope per step."""
    frame = pd.DataFrame(rows)
    k = frame["step"] - frame["step"].mean()
    squares = float(np.square(k).sum())
    columns: dict[str, float] = {}
    for name in MEASURES:
        columns[f"gradient_{name}"] = float(frame[name].mean())
        slope = float((k * frame[name]).sum()) / squares if squares else float("nan")
        columns[f"gradient_{name}_slope"] = slope
    return columns

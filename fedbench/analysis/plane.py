"""What models predict at points of the plane (FedGKD paper, Fig. 5)."""

import torch
from torch import Tensor

from fedbench.core.flat import Model
from fedbench.engine.probe import Cells
from fedbench.engine.problem import Problem

_PIECE = 10_000  # points per pass


def mesh(grid: int, reach: float) -> Tensor:
    """Points (grid², 2) of a grid over [−reach, reach]², ordered by x1, then by x2."""
    axis = torch.linspace(-reach, reach, grid, dtype=torch.float64)
    return torch.cartesian_prod(axis, axis)


def predictions(problem: Problem, model: Model, points: Tensor) -> Tensor:
    """The class that a model predicts for each sample (N,)."""
    return problem.task.outputs(model, points.to(problem.device), _PIECE)[0].argmax(1)


def painted(name: str, kind: str, points: Tensor, classes: tuple[Tensor, Tensor]) -> list[Cells]:
    """One row per point for the model `name`; `classes`: the points' (predicted, label)."""
    columns = zip(points.tolist(), *(each.tolist() for each in classes), strict=True)
    return [
        {"model": name, "kind": kind, "x1": x1, "x2": x2, "predicted": guess, "label": label}
        for (x1, x2), guess, label in columns
    ]

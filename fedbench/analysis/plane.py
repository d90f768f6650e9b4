"""What models predict over the plane (FedGKD paper, Fig. 5)."""

import torch
from torch import Tensor

from fedbench.core.flat import Model
from fedbench.engine.probe import Cells
from fedbench.engine.problem import Problem

_PIECE = 10_000  # points per pass


def mesh(grid: int, reach: float) -> Tensor:
    """Points (grid², 2) over the square from −reach to reach, borders included, x1 slowest."""
    axis = torch.linspace(-reach, reach, grid, dtype=torch.float64)
    return torch.cartesian_prod(axis, axis)


def predictions(problem: Problem, model: Model, points: Tensor) -> Tensor:
    """The class that a model predicts for each of some samples (N,)."""
    return problem.task.outputs(model, points.to(problem.device), _PIECE)[0].argmax(1)


def painted(name: str, kind: str, points: Tensor, classes: tuple[Tensor, Tensor]) -> list[Cells]:
    """One row per point, of the model `name`; `classes` are the points' (predicted, label)."""
    columns = zip(points.tolist(), *(of.tolist() for of in classes), strict=True)
    return [
        {"model": name, "kind": kind, "x1": x1, "x2": x2, "predicted": guess, "label": label}
        for (x1, x2), guess, label in columns
    ]

"""The classes that models predict for points of the plane (FedGKD paper, Fig. 5)."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from annotated_types import Ge
from torch import Tensor

from fedbench.base.checks import Positive
from fedbench.base.errors import FedbenchError
from fedbench.core.flat import Model
from fedbench.engine.probe import Cells, Columns, Probe, Scene, require_classes
from fedbench.engine.problem import Problem

_PIECE = 10_000  # points per pass


@dataclass(frozen=True)
class Regions(Probe):
    """Predictions of the cohort's models and the scored model in the plane, at the last round.

    FedGKD paper, Fig. 5; for samples of two numbers. Table: model ('client 0', …, 'global' for the
    scored model), kind ('grid', or 'point' for a client's training sample), x1, x2, predicted,
    label (−1 on the grid). Cost: grid² samples forward per model.
    """

    TABLE: ClassVar[Columns] = {
        "model": ("Model", "", ""),
        "kind": ("Grid or sample", "", ""),
        "x1": ("First coordinate", "", ""),
        "x2": ("Second coordinate", "", ""),
        "predicted": ("Predicted class", "", ""),
        "label": ("Class", "", ""),
    }

    grid: Annotated[int, Ge(2)] = 100  # points per side
    reach: Positive = 4.0  # the grid covers (−reach, reach)²

    def require(self, problem: Problem) -> None:
        """Raise `FedbenchError` without classes, or if samples are not two numbers."""
        require_classes(self, problem)
        if problem.data.shape != (2,) or problem.data.vocabulary:
            raise FedbenchError(
                "watch: regions draws a plane, but samples of data set "
                f"'{problem.data.name}' have shape {problem.data.shape}, not (2,)"
            )

    def table(self, s: Scene) -> list[Cells]:
        """Return predictions on the grid for each model, and at each client's samples."""
        if not s.last:
            return []
        rows: list[Cells] = []
        for i, model in zip(s.r.clients, s.local, strict=True):
            rows += self._plane(s, f"client {i}", model)
            samples = s.problem.rows[i].to(s.problem.device)
            x, y = s.problem.task.x[samples], s.problem.task.y[samples]
            predicted = predictions(s.problem, model, x)
            rows += painted(f"client {i}", "point", x, (predicted, y))
        return rows + self._plane(s, "global", s.scored)

    def _plane(self, s: Scene, name: str, model: Model) -> list[Cells]:
        points = mesh(self.grid, self.reach)
        predicted = predictions(s.problem, model, points)
        return painted(name, "grid", points, (predicted, torch.full_like(predicted, -1)))


def mesh(grid: int, reach: float) -> Tensor:
    """Points (grid², 2) of a grid over [−reach, reach]², ordered by x1, then by x2."""
    axis = torch.linspace(-reach, reach, grid, dtype=torch.float64)
    return torch.cartesian_prod(axis, axis)


def predictions(problem: Problem, model: Model, points: Tensor) -> Tensor:
    """The class that a model predicts for each sample (N,)."""
    return problem.task.outputs(model, points.to(problem.device), _PIECE)[0].argmax(1)


def painted(name: str, kind: str, points: Tensor, classes: tuple[Tensor, Tensor]) -> list[Cells]:
    """One row per point for the model `name`; `classes`: the points' (predicted, label)."""
    names = ("x1", "x2", "predicted", "label")
    columns = zip(*points.T.tolist(), *(each.tolist() for each in classes), strict=True)
    return [{"model": name, "kind": kind, **dict(zip(names, x, strict=True))} for x in columns]

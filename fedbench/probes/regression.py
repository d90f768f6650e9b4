"""Scores of predicted numbers: the mean squared error, the mean absolute one, and R²."""

from dataclasses import dataclass
from typing import ClassVar

from fedbench.base.errors import FedbenchError
from fedbench.engine.probe import Columns, Probe, Scene
from fedbench.engine.problem import Problem


@dataclass(frozen=True)
class Regression(Probe):
    """MSE, MAE and R² of the scored model on the test set of data whose labels are numbers.

    Columns, at every evaluated round: mse, the mean of (z − y)², in squared units of the labels;
    mae, the mean of |z − y|; r2 = 1 − mse / variance of the test labels, which is 0 for a model
    that always gives their mean. The history's `loss` is half of mse. Cost: a pass through the test
    set.
    """

    COLUMNS: ClassVar[Columns] = {
        "mse": ("Mean squared error", "", "lower"),
        "mae": ("Mean absolute error", "", "lower"),
        "r2": ("R²", "", "higher"),
    }

    def require(self, problem: Problem) -> None:
        """Raise `FedbenchError` if the data have classes."""
        if problem.fed.classes:
            raise FedbenchError(
                f"watch: regression needs numbers for labels, but data set '{problem.data.name}' "
                "has classes"
            )

    def row(self, s: Scene) -> dict[str, float]:
        """The scores of the model whose loss is the run's."""
        scorer = s.problem.scorers[""]
        y = scorer.y.double()
        error = scorer.logits(s.scored).double().squeeze(-1) - y
        mse = float((error**2).mean())
        spread = float(y.var(correction=0))
        r2 = 1 - mse / spread if spread else float("nan")
        return {"mse": mse, "mae": float(error.abs().mean()), "r2": r2}

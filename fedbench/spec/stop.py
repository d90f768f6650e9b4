"""When a run ends before its last planned round."""

import math
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator

from fedbench.base.strict import Strict


class Stop(Strict):
    """A run ends at the first evaluated round at which a score reaches a target, or stands still.

    A number of rounds that was chosen on the test set is tuned on it, as an accuracy at the best
    round is.
    """

    metric: Literal["accuracy", "macro_f1", "loss"] = "accuracy"
    """The score; of a loss lower is better."""
    target: float | None = None
    """The value to reach; null: none."""
    patience: Annotated[int, Field(ge=1, le=1_000_000, strict=True)] | None = None
    """So many evaluated rounds in a row were not better than the best one before; null: never."""
    on: Literal["held-out", "test"] = "held-out"
    """What is scored: held-out training data, for which `validation` must be above 0, or the test
    set."""

    @model_validator(mode="after")
    def _some_rule(self) -> "Stop":
        if self.target is None and self.patience is None:
            raise ValueError("give a target, a patience or both; with neither no run would stop")
        if self.target is not None and self.metric != "loss" and not 0 < self.target <= 1:
            raise ValueError(
                f"target = {self.target:g} is not allowed: {self.metric} is above 0 and at most 1"
            )
        return self

    @property
    def column(self) -> str:
        """The column of the history that decides."""
        return f"val_{self.metric}" if self.on == "held-out" else self.metric

    def ends(self, scores: Sequence[float]) -> bool:
        """Whether a run with these scores at its evaluated rounds, the last one last, is over."""
        sign = -1 if self.metric == "loss" else 1
        upward = [-math.inf if math.isnan(score) else sign * score for score in scores]
        if self.target is not None and upward[-1:] and upward[-1] >= sign * self.target:
            return True
        if self.patience is None or len(upward) <= self.patience:
            return False
        return max(upward[-self.patience :]) <= max(upward[: -self.patience])

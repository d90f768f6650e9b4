"""The sections of a run's settings, which have fields of their own: `augment`, `stop`, `tune`."""

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from fedbench.base.checks import BelowOne, Count, Fraction, Strict

WORDS = ("final", "mean", "best")  # moments of the accuracy by which a search chooses
MOST_TRIALS = 10_000  # of one search; the largest search of the five papers has 30

Whole = Annotated[Count, Field(strict=True)]


class Augment(Strict):
    """Random views of training images: a crop after zero padding, and a horizontal flip."""

    crop: Annotated[int, Field(ge=0, strict=True)] = 0
    """Pixels of padding on every side before a window of the first size is cut out; 0: no crop."""
    crop_share: Fraction = 1.0
    """The probability that a sample is cropped at all."""
    flip: Fraction = 0.5
    """The probability that a sample is mirrored left to right."""

    @property
    def as_it_acts(self) -> "Augment | None":
        """The same views in one way of writing them, which makes one identity; None: no change."""
        if self.crop and self.crop_share:
            return self
        return Augment(flip=self.flip) if self.flip else None


class Schedule(Strict):
    """How the learning rate falls over the rounds; `lr_decay` acts besides."""

    kind: Literal["cosine", "step"] = "cosine"
    """cosine: from lr to least·lr along half a cosine, which the last round's successor would end;
    step: it is multiplied by `factor` at each of the rounds `at`."""
    least: BelowOne = 0.0
    """What share of lr the cosine ends at."""
    at: tuple[Whole, ...] = ()
    """The rounds after which a step is made."""
    factor: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """What a step multiplies the rate by."""

    @model_validator(mode="after")
    def _used(self) -> "Schedule":
        if self.kind == "step" and (not self.at or self.least):
            raise ValueError("kind = 'step' needs `at`, the rounds of its steps, and no `least`")
        if self.kind == "cosine" and (self.at or self.factor != 0.1):
            raise ValueError("at and factor have no effect with kind = 'cosine'; leave them out")
        return self

    def share(self, t: int, rounds: int) -> float:
        """What lr is multiplied by in round t of `rounds`, counted from 0."""
        if self.kind == "step":
            return math.prod(self.factor for after in self.at if t >= after)
        return self.least + (1 - self.least) * (1 + math.cos(math.pi * t / rounds)) / 2


class Stop(Strict):
    """A run ends at the first evaluated round at which a score reaches a target, or stands still.

    A number of rounds that was chosen on the test set is tuned on it, as an accuracy at the best
    round is.
    """

    metric: Literal["accuracy", "macro_f1", "loss"] = "accuracy"
    """The score; of a loss lower is better."""
    target: float | None = None
    """The value to reach; null: none."""
    patience: Whole | None = None
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


class Tune(Strict):
    """A search over settings before the run: the value with the best score is used."""

    grid: dict[str, tuple[bool | int | float | str | None, ...]]
    """The values to try, by field or by `part.parameter`; all combinations are tried."""
    by: str = "final"
    """The score: the `final` accuracy, the `mean` over all evaluated rounds ('fastest
    convergence'), the accuracy of the `best` evaluated round, or any metric with its moment, as
    tables have it: `loss@best`, or `round@to:0.97`, the fewest rounds to 97 %."""
    on: Literal["held-out", "test"] = "held-out"
    """What is scored on: a held-out share of the training data or, as the papers did, the test
    set."""
    seeds: tuple[int, ...] = (0,)
    """The seeds of the trials; scores are averaged over them."""
    share: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """The share of the training data that is held out."""
    trials: dict[str, Any] = Field(default_factory=dict)
    """Settings in which the trials differ from the run: `{parts: [fedsam]}` searches the ρ of
    FedSAM on FedSAM alone, for a run of FedSAM with further parts."""

    @model_validator(mode="after")
    def _searches(self) -> "Tune":
        if self.by not in WORDS and "@" not in self.by:
            raise ValueError(
                f"by = '{self.by}' is not allowed; it must be {', '.join(WORDS)}, or a metric with "
                "its moment, such as loss@best or round@to:0.97"
            )
        trials = math.prod(map(len, self.grid.values())) * len(self.seeds)
        if not self.grid or not trials:
            raise ValueError("a grid needs at least one value for each field, and one seed")
        if self.on == "test" and self.share != Tune.model_fields["share"].default:
            raise ValueError(
                f"share = {self.share:g} has no effect with on = 'test', where nothing is held "
                "out; leave it out"
            )
        if trials > MOST_TRIALS:
            raise ValueError(f"a grid of {trials:,} trials; at most {MOST_TRIALS:,} are made")
        return self

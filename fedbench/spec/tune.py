"""A search over settings before a run, as the run's settings name it."""

import math
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from fedbench.base.strict import Strict

WORDS = ("final", "mean", "best")  # moments of the accuracy
MOST_TRIALS = 10_000  # of one search; the largest search of the five papers has 30


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
    def _known_score(self) -> "Tune":
        if self.by not in WORDS and "@" not in self.by:
            raise ValueError(
                f"by = '{self.by}' is not allowed; it must be {', '.join(WORDS)}, or a metric with "
                "its moment, such as loss@best or round@to:0.97"
            )
        return self

    @model_validator(mode="after")
    def _not_empty(self) -> "Tune":
        empty = [key for key, values in self.grid.items() if not values]
        if empty or not self.grid or not self.seeds:
            raise ValueError("a grid needs at least one value for each field, and one seed")
        if self.on == "test" and self.share != Tune.model_fields["share"].default:
            raise ValueError(
                f"share = {self.share:g} has no effect with on = 'test', where nothing is held "
                "out; leave it out"
            )
        trials = math.prod(map(len, self.grid.values())) * len(self.seeds)
        if trials > MOST_TRIALS:
            raise ValueError(f"a grid of {trials:,} trials; at most {MOST_TRIALS:,} are made")
        return self

"""The fields of a run's settings and of their sections, each with its default and its range."""

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from fedbench.base.checks import BelowOne, Count, Fraction, NonNegative, Positive, Share, Strict
from fedbench.spec.choice import Choice

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
            raise ValueError(f"target = {self.target:g}: {self.metric} is above 0 and at most 1")
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


class FirstStage(Strict):
    """A shorter search over the whole grid, of which the best settings alone go on."""

    keep: Whole
    """How many settings go on."""
    seeds: tuple[int, ...]
    """The seeds of its trials; scores are averaged over them."""
    rounds: Whole
    """The rounds of its trials, which are as the search's own in all else."""


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
    first: FirstStage | None = None
    """A first stage: `{keep: 5, seeds: [1], rounds: 25}` tries the grid over 25 rounds with one
    seed, and only its five best settings with `seeds` and `trials`; null: all are tried so."""
    rank: Annotated[int, Field(ge=0, strict=True)] = 0
    """Which setting is used, by its score: 0 is the best, 1 the next. A trial after a first stage
    has one of that stage's."""
    around: dict[str, Annotated[float, Field(gt=1)]] = Field(default_factory=dict)
    """Finer steps at the end: `{lr: 1.78}` tries the best setting with 1.78 times its rate, and
    with its rate divided by that, to three digits, too; the best of all is used."""
    times: dict[str, float] = Field(default_factory=dict)
    """What numbers of the setting are multiplied by; a trial that `around` asks for has it."""

    @model_validator(mode="after")
    def _each_once(self) -> "Tune":
        for key, values in {**self.grid, "seeds": self.seeds}.items():
            if twice := [each for each in values if values.count(each) > 1]:
                raise ValueError(f"{key} has {twice[0]} twice; once is enough")
        return self

    @model_validator(mode="after")
    def _searches(self) -> "Tune":
        if self.by not in WORDS and ("@" not in self.by or "/" in self.by):
            raise ValueError(
                f"by = '{self.by}' is not allowed; it must be {', '.join(WORDS)}, or a metric with "
                "its moment, such as loss@best or round@to:0.97"
            )
        points = math.prod(map(len, self.grid.values()))
        trials = points * len(self.first.seeds if self.first else self.seeds)
        if not self.grid or not trials or not self.seeds:
            raise ValueError("a grid needs at least one value for each field, and one seed")
        numbers = [x for key in self.around for x in self.grid.get(key, ("",))]
        if any(isinstance(x, bool | str | None) for x in numbers):
            told = ", ".join(self.around)
            raise ValueError(f"around = {told}: each must be a field of the grid, all with numbers")
        left = self.first.keep if self.first else points
        if left > points or self.rank >= left:
            told = f"first.keep = {left}, rank = {self.rank}"
            raise ValueError(f"{told}: the grid has {points} points, of which rank counts from 0")
        if self.on == "test" and self.share != Tune.model_fields["share"].default:
            raise ValueError(f"share = {self.share:g} has no effect with on = 'test'; leave it out")
        if trials > MOST_TRIALS:
            raise ValueError(f"a grid of {trials:,} trials; at most {MOST_TRIALS:,} are made")
        return self


class RunSettings(Strict):
    """The settings of a run, each checked by itself; `RunSpec` checks what they mean together."""

    dataset: Choice = Choice(name="digits")
    """The data set, as `fedbench list datasets` names it."""
    model: Choice = Choice(name="mlp")
    """The network, as `fedbench list models` names it."""
    projection: Whole | None = None
    """The width of a projection head, which is put between the features of the model and its
    classifier; null: none. A module that is given must have it already."""
    partition: Choice = Choice(name="iid")
    """The rule that deals the training samples to clients (`fedbench list partitions`)."""
    shift: tuple[Choice, ...] = ()
    """What makes clients' data differ beyond which samples they hold, in this order (`fedbench list
    shifts`): noise, rotation, colours, wrong labels."""
    parts: tuple[Choice, ...] = ()
    """The method, as a list of parts (`fedbench list methods`); the empty list is FedAvg."""
    clients: Whole = 10
    """The number of clients, K."""
    participation: Share = 1.0
    """The share C of the clients that train in a round: a cohort of max(1, round(C·K))."""
    sampler: Choice = Choice(name="uniform")
    """The rule that draws the cohort of a round (`fedbench list samplers`)."""
    work: Choice = Choice(name="constant")
    """The rule that says how many of the epochs or steps each client makes (`fedbench list
    work`)."""
    weights: Literal["uniform", "samples"] = "uniform"
    """How the models of a cohort are mixed: all alike, or with samples by their clients' numbers of
    samples, as McMahan et al. do."""
    rounds: Whole = 10
    """The number of rounds, T."""
    epochs: Whole | None = None
    """Local epochs E of a client in a round; null: 1, unless `steps` is given."""
    steps: Whole | None = None
    """Local steps H of a client in a round, in place of epochs."""
    batch: Whole | None = 50
    """Samples of a mini-batch, B; null: all data of a client."""
    lr: Positive = 0.1
    """The learning rate of the first round; that of round t is lr·lr_decay^t."""
    lr_decay: Share = 1.0
    """What the learning rate is multiplied by after each round."""
    schedule: Schedule | None = None
    """A cosine or steps by which the rate falls over the rounds; null: none."""
    optimizer: Literal["sgd", "adam"] = "sgd"
    """The optimiser of the local steps."""
    momentum: BelowOne = 0.0
    """The momentum of local SGD; it starts anew in each round."""
    dampening: Fraction = 0.0
    """The dampening of that momentum, as in PyTorch."""
    nesterov: bool = False
    """Nesterov's momentum; it needs momentum > 0 and dampening = 0."""
    betas: tuple[BelowOne, BelowOne] = (0.9, 0.999)
    """The decay rates of Adam's two moments."""
    eps: Positive = 1e-8
    """What Adam adds to its denominator."""
    weight_decay: NonNegative = 0.0
    """The weight decay of the local steps, added to the gradient after clipping."""
    decay_norms: bool = True
    """false keeps weight decay off the weights and biases of normalisation layers, those on the
    shortcuts of a residual network included (the released code of FedGKD does decay these). Without
    weight decay it has no effect, and is no part of the identity."""
    clip: Positive | None = None
    """The largest norm of a gradient; null: no clipping."""
    normalise: bool = False
    """Whether features are scaled: images by the usual means and deviations of their channels, a
    table by those of its training rows."""
    augment: Augment | None = None
    """Random crops and flips of the images that local steps see; scoring sees none."""
    validation: BelowOne = 0.0
    """The share of the training data that is held out before the partition. A data set that comes
    with a validation set is scored on that set, and nothing is held out."""
    seed: Annotated[int, Field(ge=0, strict=True)] = 0
    """What all random draws of the run depend on."""
    data_seed: Annotated[int, Field(ge=0, strict=True)] | None = None
    """The seed of the partition and of the held-out share; null: `seed`. In the settings of a grid
    it gives all seeds of the grid one partition."""
    eval_every: Whole = 1
    """The model is scored after every so many rounds, and after the last."""
    precision: Literal["float32", "float64", "bfloat16"] = "float32"
    """The precision of the run; bfloat16 runs the network under autocast, with weights, updates and
    losses in float32."""
    watch: tuple[Choice, ...] = ()
    """Probes (`fedbench list probes`): what they measure is written beside the history."""
    stop: Stop | None = None
    """Early stopping: when the run ends before its last round; null: never."""
    tune: Tune | None = None
    """A search for settings before the run, which the workflow makes; `fedbench run` refuses it."""

"""The fields of a run's settings, each with its default and its range."""

from typing import Annotated, Literal

from pydantic import Field

from fedbench.base.checks import BelowOne, Fraction, NonNegative, Positive, Share, Strict
from fedbench.spec.choice import Choice
from fedbench.spec.sections import Augment, Schedule, Stop, Tune, Whole


class RunSettings(Strict):
    """The settings of a run, each checked by itself; `RunSpec` checks what they mean together."""

    dataset: Choice = Choice(name="digits")
    """The data set, as `fedbench list datasets` names it."""
    model: Choice = Choice(name="mlp")
    """The network, as `fedbench list models` names it."""
    projection: Whole | None = None
    """The width of a projection head, which is put between the features of the model and its
    classifier; null: none."""
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

"""The settings of a training run, and the identity that follows from them.

The identity is the sha256 of the settings as JSON, with the checksums of the plug-ins that the run
uses. Settings at their defaults are left out, so that a new field whose default changes nothing
keeps the identity of every earlier run. Labels, papers and tables are no part of it.
"""

import math
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from fedbench.base import registry
from fedbench.base.choice import Choice as Choice
from fedbench.base.digest import digest
from fedbench.base.ending import Stop
from fedbench.base.errors import FedbenchError, unknown
from fedbench.base.plugins import plugin_folders
from fedbench.base.strict import Strict

NUMERICS = 3  # raised only by a change that moves numbers, with a line in CHANGELOG.md

MOST_TRIALS = 10_000  # of one search; the largest search of the five papers has 30
_KINDS = ("dataset", "model", "partition", "sampler")

_DIGITS = 12  # of the 64 of a plug-in's checksum, as part of the identity
_SLUG = 150  # characters; the name of a folder may have 255

Whole = Annotated[int, Field(ge=1, le=1_000_000, strict=True)]  # more is taken for a typing error

_NOT_OF_TRIALS = {"tune", "seed", "data_seed"}


class Tune(Strict):
    """A search over settings before the run: the value with the best score is used.

    grid: the values to try, by field or by `part.parameter`; all combinations are tried.
    by: the score, which is the last accuracy, the mean over all evaluated rounds ('fastest
    convergence') or the accuracy of the best evaluated round. on: what is scored on, a held-out
    share of the training data or, as the papers did, the test set. seeds: of the trials; scores are
    averaged over them. share: of the training data that is held out, above 0 and below 1.
    trials: settings in which the trials differ from the run. `{parts: [fedsam]}` searches the ρ of
    FedSAM on FedSAM alone, for a run of FedSAM with further parts.
    """

    grid: dict[str, tuple[float | int | str, ...]]
    by: Literal["final", "mean", "best"] = "final"
    on: Literal["held-out", "test"] = "held-out"
    seeds: tuple[int, ...] = (0,)
    share: Annotated[float, Field(gt=0, lt=1)] = 0.1
    trials: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _not_empty(self) -> "Tune":
        empty = [key for key, values in self.grid.items() if not values]
        if empty or not self.grid or not self.seeds:
            raise ValueError("a grid needs at least one value for each field, and one seed")
        trials = math.prod(map(len, self.grid.values())) * len(self.seeds)
        if trials > MOST_TRIALS:
            raise ValueError(f"a grid of {trials:,} trials; at most {MOST_TRIALS:,} are made")
        return self


class Augment(Strict):
    """Random views of training images: a crop after zero padding, and a horizontal flip.

    crop: pixels of padding on every side (0: no crop); crop_share: probability that a sample is
    cropped at all; flip: probability that it is mirrored left to right.
    """

    crop: Annotated[int, Field(ge=0, strict=True)] = 0
    crop_share: Annotated[float, Field(ge=0, le=1)] = 1.0
    flip: Annotated[float, Field(ge=0, le=1)] = 0.5


class RunSpec(Strict):
    """All settings of one federated training run.

    `clients` K, `participation` C (a cohort of C·K clients), `rounds` T. Local work is `epochs` E
    or `steps` H, in mini-batches of `batch` B samples (null: all data of a client). The learning
    rate of round t is lr·lr_decay^t. `clip` bounds the norm of the gradient. `decay_norms: false`
    keeps weight decay off the weights and biases of normalisation layers, those on the shortcuts of
    a residual network included (the released code of FedGKD does decay these). `augment` changes
    what local steps see, not what is scored. `precision: bfloat16` runs the network under autocast,
    with weights, updates and losses in float32.
    `validation` is the share of the training data that is held out before partitioning; a data set
    that comes with a validation set is scored on that set, and nothing is held out. `projection`
    puts a projection head of that width between the features of the model and its classifier.
    `watch` lists probes: what they measure is written beside the history. `data_seed` (default:
    `seed`) draws the partition. `stop` ends the run before its last round.
    Raises `FedbenchError` with one sentence on a wrong field, type or range.
    """

    dataset: Choice = Choice(name="digits")
    model: Choice = Choice(name="mlp")
    projection: Whole | None = None
    partition: Choice = Choice(name="iid")
    parts: tuple[Choice, ...] = ()
    clients: Whole = 10
    participation: Annotated[float, Field(gt=0, le=1)] = 1.0
    sampler: Choice = Choice(name="uniform")
    weights: Literal["uniform", "samples"] = "uniform"
    rounds: Whole = 10
    epochs: Whole | None = None
    steps: Whole | None = None
    batch: Whole | None = 50
    lr: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.1
    lr_decay: Annotated[float, Field(gt=0, le=1)] = 1.0
    optimizer: Literal["sgd", "adam"] = "sgd"
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.0
    dampening: Annotated[float, Field(ge=0, le=1)] = 0.0
    nesterov: bool = False
    betas: tuple[Annotated[float, Field(ge=0, lt=1)], Annotated[float, Field(ge=0, lt=1)]] = (
        0.9,
        0.999,
    )
    eps: Annotated[float, Field(gt=0)] = 1e-8
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    decay_norms: bool = True
    clip: Annotated[float, Field(gt=0)] | None = None
    normalise: bool = False
    augment: Augment | None = None
    validation: Annotated[float, Field(ge=0, lt=1)] = 0.0
    seed: Annotated[int, Field(ge=0)] = 0
    data_seed: Annotated[int, Field(ge=0)] | None = None
    eval_every: Whole = 1
    precision: Literal["float32", "float64", "bfloat16"] = "float32"
    watch: tuple[Choice, ...] = ()
    stop: Stop | None = None
    tune: Tune | None = None

    @model_validator(mode="after")
    def _consistent(self) -> "RunSpec":
        if self.epochs and self.steps:
            raise ValueError(
                f"epochs = {self.epochs} and steps = {self.steps} are both given; keep one"
            )
        if self.nesterov and (not self.momentum or self.dampening):
            raise ValueError("nesterov needs momentum > 0 and dampening = 0")
        names = [probe.name for probe in self.watch]
        if len(set(names)) < len(names):
            raise ValueError(f"watch names a probe twice: {', '.join(names)}")
        if self.stop and self.stop.on == "held-out" and not self.validation:
            raise ValueError(
                "stop.on = 'held-out' needs held-out data; set validation above 0, or write on: "
                "test, by which the number of rounds is tuned on the test set"
            )
        if self.optimizer == "adam" and (self.momentum or self.nesterov):
            raise ValueError("optimizer 'adam' takes betas, not momentum")
        return self

    @model_validator(mode="after")
    def _known_names(self) -> "RunSpec":
        for kind, choice in self.choices():
            registry.require_known(kind, choice.name, choice.params)
        return self

    @model_validator(mode="after")
    def _searchable(self) -> "RunSpec":
        if self.tune is None:
            return self
        for owner, run in (("run", self), ("search's trials", self.trial())):
            for key in self.tune.grid:
                _check_searched(key, owner, run)
        return self

    def choices(self) -> list[tuple[str, Choice]]:
        """Everything that is chosen by name, as (kind, choice): data set, model, parts, probes."""
        chosen = [(kind, getattr(self, kind)) for kind in _KINDS]
        chosen += [("method", part) for part in self.parts]
        return chosen + [("probe", probe) for probe in self.watch]

    def plugins(self) -> dict[str, registry.Entry]:
        """The plug-ins that the run or its search uses, by 'kind name'; empty without any."""
        if not plugin_folders():
            return {}
        chosen = self.choices() + (self.trial().choices() if self.tune else [])
        entries = {f"{kind} {each.name}": registry.find(kind, each.name) for kind, each in chosen}
        return {name: entry for name, entry in entries.items() if entry.sha256}

    @property
    def local_epochs(self) -> int | None:
        """E, 1 unless `steps` is given."""
        return None if self.steps else self.epochs or 1

    @property
    def partition_seed(self) -> int:
        """The seed of the partition and of the held-out split."""
        return self.seed if self.data_seed is None else self.data_seed

    def settings(self) -> dict[str, Any]:
        """The settings that differ from the defaults, as plain values: what identifies the run.

        Plug-ins are listed with the checksums of their files: other code makes another run.
        """
        spelled = {kind: getattr(self, kind).brief(kind) for kind in _KINDS}
        lists = {
            "parts": tuple(part.brief("method") for part in self.parts),
            "watch": tuple(probe.brief("probe") for probe in self.watch),
        }
        short = self.model_copy(update={**spelled, **lists, "tune": self._brief_tune()})
        plain = short.model_dump(mode="json", exclude_defaults=True) | {"numerics": NUMERICS}
        code = {
            name: [checksum[:_DIGITS] for checksum in entry.sha256.values()]
            for name, entry in self.plugins().items()
        }
        return plain | {"plugins": code} if code else plain

    def _brief_tune(self) -> Tune | None:
        """The search, with parameters of its trials left out where they have their default."""
        if self.tune is None or not self.tune.trials:
            return self.tune
        plain = self.trial().settings()
        usual = RunSpec().model_dump(mode="json")
        trials = {key: plain.get(key, usual[key]) for key in self.tune.trials}
        return self.tune.model_copy(update={"trials": trials})

    def trial(self) -> "RunSpec":
        """What the trials of the search share: this run with the settings that `tune` names."""
        trials = self.tune.trials if self.tune else {}
        for key in trials:
            if key in _NOT_OF_TRIALS or key not in RunSpec.model_fields:
                allowed = RunSpec.model_fields.keys() - _NOT_OF_TRIALS
                raise FedbenchError(f"tune.trials: {unknown('setting', key, allowed)}")
        return self.changed(tune=None, **trials)

    @property
    def id(self) -> str:
        """Readable words, the seed, and 12 hexadecimal digits of the settings' sha256."""
        words = [self.dataset.name, self.model.name, self.partition.name]
        words += [part.name for part in self.parts] or ["fedavg"]
        return f"{'-'.join(words)[:_SLUG]}-s{self.seed}-{digest(self.settings())}"

    def changed(self, **settings: Any) -> "RunSpec":
        """The same run with other settings; `part.parameter` sets a parameter of a part."""
        plain = self.model_dump(mode="python") | {"parts": [dict(p) for p in self.parts]}
        for key, value in settings.items():
            assign(plain, key, value)
        return RunSpec(**plain)


def _check_searched(key: str, owner: str, run: RunSpec) -> None:
    """Raise `FedbenchError` on a field or `part.parameter` in a search's grid that is unknown."""
    part, _, parameter = key.partition(".")
    if not parameter:
        allowed = RunSpec.model_fields.keys() - _NOT_OF_TRIALS
        if key not in allowed:
            raise FedbenchError(f"tune.grid: {unknown('setting', key, allowed)}")
        return
    names = [choice.name for choice in run.parts]
    if part not in names:
        raise FedbenchError(f"tune.grid: '{key}' names no part of the {owner}, only {names}")
    registry.require_known("method", part, {parameter: None})


def assign(plain: dict[str, Any], key: str, value: Any) -> None:
    """Set a field in `plain`, or for `part.parameter` a parameter of each part of that name.

    `tune.grid` reaches into the search, as do its other fields.
    """
    part, _, parameter = key.partition(".")
    if not parameter:
        plain[key] = value
    elif part == "tune":
        if not plain.get("tune"):
            raise FedbenchError(f"'{key}' names the search of a run that has none")
        plain["tune"] = dict(plain["tune"]) | {parameter: value}
    else:
        _assign_to_part(plain, key, value)


def _assign_to_part(plain: dict[str, Any], key: str, value: Any) -> None:
    part, _, parameter = key.partition(".")
    owners = [p for p in plain["parts"] if p["name"] == part]
    if not owners:
        raise FedbenchError(
            f"'{key}' names no part of this run, only {[p['name'] for p in plain['parts']]}"
        )
    for owner in owners:
        owner["params"] = owner["params"] | {parameter: value}

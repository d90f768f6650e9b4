"""What defines a training run, and its identity.

A run is identified by its settings alone: canonical JSON → sha256. Defaults are left out, so a new
field with a neutral default keeps every old identity; so are labels, papers and tables.
"""

import hashlib
import json
import math
from typing import Annotated, Any, Literal

from pydantic import Field, model_serializer, model_validator

from fedbench.base import registry
from fedbench.base.errors import FedbenchError, quoted, unknown
from fedbench.base.strict import Strict

NUMERICS = 2  # raised only by a change that moves numbers, with a line in CHANGELOG.md

MOST_TRIALS = 10_000  # of one search; the largest of the five papers has 30
_KINDS = ("dataset", "model", "partition", "sampler")

_SLUG = 150  # letters; a folder's name has room for 255
_FORMS = "a name or {name: {parameter: value}}"

Whole = Annotated[int, Field(ge=1, le=1_000_000, strict=True)]  # more is a slip of the keyboard

_NOT_OF_TRIALS = {"tune", "seed", "data_seed"}


class Choice(Strict):
    """A name from a registry with its parameters: `lenet5` or `{lenet5: {width: 0.5}}` in YAML."""

    name: str
    params: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"name": value}
        if isinstance(value, dict) and "name" not in value:
            if len(value) != 1:
                raise ValueError(f"{quoted(value)} must be {_FORMS}")
            ((name, params),) = value.items()
            if not isinstance(params, dict | None):
                raise ValueError(
                    f"{quoted(value)} must be {_FORMS}: {quoted(params)} is no mapping of "
                    "parameters"
                )
            return {"name": name, "params": {} if params is None else params}
        return value

    @model_serializer
    def _short(self) -> Any:
        return {self.name: self.params} if self.params else self.name

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> dict[str, Any]:
        """The short forms, which is how files say it."""
        one = {"type": "object", "minProperties": 1, "maxProperties": 1}
        return {"anyOf": [{"type": "string"}, one], "description": cls.__doc__}

    def __str__(self) -> str:
        inner = ", ".join(f"{k}={v}" for k, v in self.params.items())
        return f"{self.name}({inner})" if inner else self.name


class Tune(Strict):
    """A search over settings before the run: the value with the best score is used.

    grid: values to try by field, or by `part.parameter`; all combinations are tried.
    by: the last accuracy, the mean over all evaluated rounds ('fastest convergence'), or the best
    evaluated round. on: a held-out share of the training data, or the test set as the papers did.
    trials: settings of the trials in place of the run's own, which makes them the trials of another
    method: `{parts: [fedsam]}` searches FedSAM's ρ on FedSAM, for a run of FedSAM and more.
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
    cropped at all; flip: probability that it is mirrored.
    """

    crop: Annotated[int, Field(ge=0, strict=True)] = 0
    crop_share: Annotated[float, Field(ge=0, le=1)] = 1.0
    flip: Annotated[float, Field(ge=0, le=1)] = 0.5


class RunSpec(Strict):
    """All settings of one federated training run.

    clients K, participation C (cohort of C·K), rounds T; local work is `epochs` E or `steps` H of
    mini-batches of `batch` B (null: all of a client's data); the learning rate of round t is
    lr·lr_decay^t; `clip` bounds the gradient's norm; `decay_norms` false keeps weight decay off the
    normalisation layers' weights and biases, those on the shortcuts of a residual network among
    them (the FedGKD authors' released code does decay these). `augment` changes what local steps
    see, not what is scored. `precision` 'bfloat16' runs the network under autocast, with weights,
    updates and losses in float32; `channels_last` is the memory layout of images. `validation` is
    the share of the training data held out before partitioning; a data set that brings a validation
    set of its own is scored on that, and keeps them. `projection` puts a projection head of that
    width between the model's features and its classifier. `watch` lists the probes whose columns
    and tables are written beside the history. `data_seed` (default: `seed`) drives the partition.
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
    channels_last: bool = False
    watch: tuple[Choice, ...] = ()
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
        if self.optimizer == "adam" and (self.momentum or self.nesterov):
            raise ValueError("optimizer 'adam' takes betas, not momentum")
        return self

    @model_validator(mode="after")
    def _known_names(self) -> "RunSpec":
        chosen = [(kind, getattr(self, kind)) for kind in _KINDS]
        chosen += [("method", part) for part in self.parts]
        chosen += [("probe", probe) for probe in self.watch]
        for kind, choice in chosen:
            registry.check(kind, choice.name, choice.params)
        return self

    @model_validator(mode="after")
    def _searchable(self) -> "RunSpec":
        if self.tune is None:
            return self
        for owner, run in (("run", self), ("search's trials", self.trial())):
            for key in self.tune.grid:
                _check_searched(key, owner, run)
        return self

    @property
    def local_epochs(self) -> int | None:
        """E, 1 unless `steps` is given."""
        return None if self.steps else self.epochs or 1

    @property
    def partition_seed(self) -> int:
        """The seed of the partition and of the held-out split."""
        return self.seed if self.data_seed is None else self.data_seed

    def settings(self) -> dict[str, Any]:
        """Plain settings that differ from the defaults: what identifies the run."""
        spelled = {kind: brief(kind, getattr(self, kind)) for kind in _KINDS}
        lists = {
            "parts": tuple(brief("method", part) for part in self.parts),
            "watch": tuple(brief("probe", probe) for probe in self.watch),
        }
        short = self.model_copy(update={**spelled, **lists, "tune": self._brief_tune()})
        return short.model_dump(mode="json", exclude_defaults=True) | {"numerics": NUMERICS}

    def _brief_tune(self) -> Tune | None:
        """The search with its trials' settings spelled one way."""
        if self.tune is None or not self.tune.trials:
            return self.tune
        plain = self.trial().settings()
        usual = RunSpec().model_dump(mode="json")
        trials = {key: plain.get(key, usual[key]) for key in self.tune.trials}
        return self.tune.model_copy(update={"trials": trials})

    def trial(self) -> "RunSpec":
        """What the trials of its search share: this run without it, with the settings it names."""
        trials = self.tune.trials if self.tune else {}
        for key in trials:
            if key in _NOT_OF_TRIALS or key not in RunSpec.model_fields:
                allowed = RunSpec.model_fields.keys() - _NOT_OF_TRIALS
                raise FedbenchError(f"tune.trials: {unknown('setting', key, allowed)}")
        return self.changed(tune=None, **trials)

    @property
    def id(self) -> str:
        """A readable slug and 12 hexadecimal digits of the settings' hash."""
        words = [self.dataset.name, self.model.name, self.partition.name]
        words += [part.name for part in self.parts] or ["fedavg"]
        return f"{'-'.join(words)[:_SLUG]}-s{self.seed}-{digest(self.settings())}"

    def changed(self, **settings: Any) -> "RunSpec":
        """The same run with other settings; `part.parameter` reaches into a part."""
        plain = self.model_dump(mode="python") | {"parts": [dict(p) for p in self.parts]}
        for key, value in settings.items():
            assign(plain, key, value)
        return RunSpec(**plain)


def brief(kind: str, choice: Choice) -> Choice:
    """A choice without the parameters that are written at their default value."""
    entry = registry.find(kind, choice.name)
    params = {k: v for k, v in choice.params.items() if not _is_usual(entry, k, v)}
    return Choice(name=choice.name, params=params)


def _is_usual(entry: registry.Entry, field: str, value: Any) -> bool:
    """Whether a parameter is written at its default; a list may be written for a tuple."""
    if value is None:
        return field in entry.nulls
    return field in entry.fields and bool(_canonical(value) == _canonical(entry.fields[field]))


def _check_searched(key: str, owner: str, run: RunSpec) -> None:
    """Refuse a field or `part.parameter` to be searched that there is not."""
    part, _, parameter = key.partition(".")
    if not parameter:
        allowed = RunSpec.model_fields.keys() - _NOT_OF_TRIALS
        if key not in allowed:
            raise FedbenchError(f"tune.grid: {unknown('setting', key, allowed)}")
        return
    names = [choice.name for choice in run.parts]
    if part not in names:
        raise FedbenchError(f"tune.grid: '{key}' names no part of the {owner}, only {names}")
    registry.check("method", part, {parameter: None})


def assign(plain: dict[str, Any], key: str, value: Any) -> None:
    """Set a field of plain settings, or with `part.parameter` that of each part of the name.

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


def digest(value: Any) -> str:
    """12 hexadecimal digits of the canonical JSON: key order and 1 against 1.0 do not matter."""
    text = json.dumps(_canonical(value), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _canonical(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(v) for v in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value

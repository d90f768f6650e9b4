"""The settings of one training run, and the identity that follows from them."""

from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from pydantic import field_validator, model_validator

from fedbench.base import registry
from fedbench.base.checksums import digest
from fedbench.base.errors import FedbenchError, of_file, require_among
from fedbench.base.plugins import plugin_folders
from fedbench.base.yamlfile import read_yaml
from fedbench.spec.choice import Choice, assign, no_part
from fedbench.spec.compositions import compositions, fixed_settings, full, parts_of, spelled_out
from fedbench.spec.fields import Augment, RunSettings
from fedbench.spec.numerics_versions import NUMERICS, changed_since

NAMED = ("dataset", "model", "partition", "sampler", "work")  # settings that are chosen by a name
LISTED = {"shift": "shift", "parts": "method", "watch": "probe"}  # lists of these, and their kinds

# settings that trials of a search may have of their own
_OF_TRIALS = RunSettings.model_fields.keys() - {"tune", "seed", "data_seed"}
SLUG = 150  # characters; the name of a folder may have 255


class RunSpec(RunSettings):
    """All settings of one federated training run: its fields are those of `RunSettings`.

    `parts` may have named methods too: `RunSpec(parts=["FedADC+", "asd"])`. They are replaced by
    their parts, and settings that they need are added unless they are given. Raises `FedbenchError`
    with one sentence on a wrong field, type or range.
    """

    def __copy__(self) -> "RunSpec":
        """A copy that `model_copy` may change: with an id and a trial of its own."""
        copied = super().__copy__()
        for known in ("id", "_trial"):
            copied.__dict__.pop(known, None)
        return copied

    @model_validator(mode="before")
    @classmethod
    def _with_parts_of_methods(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        settings = spelled_out(value)
        return settings | fixed_settings(parts_of(settings))

    @field_validator("augment")
    @classmethod
    def _as_it_acts(cls, value: Augment | None) -> Augment | None:
        """The same views in one way of writing them, which makes one identity; None: no change."""
        if value is None or (value.crop and value.crop_share):
            return value
        return Augment(flip=value.flip) if value.flip else None

    @model_validator(mode="after")
    def _consistent(self) -> "RunSpec":
        if self.epochs and self.steps:
            raise ValueError(f"epochs = {self.epochs}, steps = {self.steps} are both set; keep one")
        if self.nesterov and (not self.momentum or self.dampening):
            raise ValueError("nesterov needs momentum > 0 and dampening = 0")
        if self.shift and self.clients == 1:  # `centralised` sets it
            raise ValueError("shift: one client differs from no other; leave shift out")
        for field in ("watch", "shift"):  # two of a name would write one table, draw the same
            names = [choice.name for choice in getattr(self, field)]
            if len(set(names)) < len(names):
                raise ValueError(f"{field} has a name twice: {', '.join(names)}")
        if self.stop and self.stop.on == "held-out" and not self.validation:
            raise ValueError(
                "stop.on = 'held-out' needs held-out data; set validation above 0, or write "
                '"on": test'
            )
        self._require_used()
        for kind, choice in self.choices():
            registry.require_known(kind, choice.name, choice.params)
        return self

    def _require_used(self) -> None:
        """Refuse settings of the optimiser without effect: equal runs would have two identities."""
        if self.optimizer == "adam":
            unused = ["momentum", "dampening", "nesterov"]
        else:
            unused = ["betas", "eps", *([] if self.momentum else ["dampening"])]
        for name in unused:
            value, usual = getattr(self, name), RunSpec.model_fields[name].default
            if value != usual:
                raise ValueError(
                    f"{name} = {value} has no effect with optimizer '{self.optimizer}' and "
                    f"momentum = {self.momentum:g}; leave it at {usual}"
                )

    @model_validator(mode="after")
    def _searchable(self) -> "RunSpec":
        if self.tune is None:
            return self
        searched = {*self.tune.grid, *self.tune.trials}
        if self.tune.on == "held-out" and "validation" in searched:
            raise ValueError("tune: validation cannot be searched or set, only tune.share")
        for owner, run in (("the run", self), ("the search's trials", self.trial())):
            names = [choice.name for choice in run.parts]
            for key in self.tune.grid:
                part, _, parameter = key.partition(".")
                if not parameter:
                    require_among("tune.grid", "setting", key, _OF_TRIALS)
                elif part not in names:
                    raise FedbenchError(f"tune.grid: {no_part(key, owner, names)}")
                else:
                    registry.require_known("method", part, {parameter: None})
        return self

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """The settings that differ from the defaults, for a line in a REPL."""
        yield from self.model_dump(mode="python", exclude_defaults=True).items()

    __str__ = RunSettings.__repr__

    def choices(self) -> list[tuple[str, Choice]]:
        """Everything that is chosen by name, as (kind, choice): data set, model, parts, probes."""
        chosen = [(kind, getattr(self, kind)) for kind in NAMED]
        return chosen + [(kind, x) for name, kind in LISTED.items() for x in getattr(self, name)]

    def _components(self, trial: "RunSpec") -> list[tuple[str, Choice]]:
        """Everything that is chosen by name for the run or for its search's trial."""
        return self.choices() + (trial.choices() if self.tune else [])

    def plugins(self) -> dict[str, registry.Entry]:
        """The plug-ins that the run or its search uses, by 'kind name'; empty without any."""
        if not plugin_folders():
            return {}
        used = self._components(self.trial())
        entries = {f"{kind} {each.name}": registry.find(kind, each.name) for kind, each in used}
        return {name: entry for name, entry in entries.items() if entry.sha256}

    @property
    def local_epochs(self) -> int | None:
        """E, 1 unless `steps` is given."""
        return None if self.steps else self.epochs or 1

    @property
    def most(self) -> int:
        """The local epochs E or, where `steps` is given, steps H of a client with all its work."""
        return self.steps or self.epochs or 1

    @property
    def partition_seed(self) -> int:
        """The seed of the partition and of the held-out split."""
        return self.seed if self.data_seed is None else self.data_seed

    def settings(self) -> dict[str, Any]:
        """The settings that differ from the defaults, as plain values: what identifies the run.

        Plug-ins are listed with the checksums of their files, and components that have changed with
        their versions (`spec.numerics_versions`): other code makes another run.
        """
        spelled = {kind: getattr(self, kind).brief(kind) for kind in NAMED}
        lists = {k: tuple(x.brief(kind) for x in getattr(self, k)) for k, kind in LISTED.items()}
        tune, trial = self.tune, self.trial()  # of other seeds, and the same data_seed
        same = self.data_seed == self.seed and not tune
        partition = {"data_seed": None if same else self.data_seed}
        if tune and tune.trials:  # without parameters of its trials that have their default
            own, usual = trial.settings(), _defaults()
            trials = {key: own.get(key, usual[key]) for key in tune.trials}
            tune = tune.model_copy(update={"trials": trials})
        searched = {*tune.grid, *tune.trials} if tune else set()
        decays = self.weight_decay > 0 or "weight_decay" in searched
        norms = {"decay_norms": self.decay_norms or not decays}  # no effect without decay
        short = self.model_copy(update={**spelled, **lists, **partition, **norms, "tune": tune})
        plain = short.model_dump(mode="json", exclude_defaults=True) | {"numerics": NUMERICS}
        plugins = self.plugins().items()
        code = {name: entry.code for name, entry in plugins}
        newer = changed_since(self._components(trial), plain)
        return plain | ({"newer": newer} if newer else {}) | ({"plugins": code} if code else {})

    def trial(self) -> "RunSpec":
        """What the trials of the search share: this run with the settings that `tune` names."""
        return self if self.tune is None else self._trial

    @cached_property
    def _trial(self) -> "RunSpec":
        trials = self.tune.trials if self.tune else {}
        for key in trials:
            require_among("tune.trials", "setting", key, _OF_TRIALS)
        return self.changed(tune=None, **trials)

    @cached_property
    def id(self) -> str:
        """Readable words, the seed, and 12 hexadecimal digits of the settings' sha256."""
        words = [self.dataset.name, self.model.name, self.partition.name]
        words += [part.name for part in self.parts] or ["fedavg"]
        return f"{'-'.join(words)[:SLUG]}-s{self.seed}-{digest(self.settings())}"

    def changed(self, **settings: Any) -> "RunSpec":
        """The same run with other settings; `part.parameter` sets a parameter of a part."""
        plain = {name: getattr(self, name) for name in self.model_fields_set}  # as it was checked
        plain["parts"] = [dict(part) for part in self.parts]
        for key, value in settings.items():
            assign(plain, key, value)
        return RunSpec(**plain)


@cache
def _defaults() -> dict[str, Any]:
    """All settings of a run of which none is given, as plain values."""
    return RunSpec().model_dump(mode="json")


def load_run(path: Path) -> RunSpec:
    """The run that a YAML file describes; raises `FedbenchError` beginning with a file's name."""
    settings = {str(key): value for key, value in read_yaml(path).items()}
    with of_file(path):  # a mistake in compositions.yaml names that file
        return RunSpec(**settings)


def name_of(run: RunSpec) -> str | None:
    """The first named method whose parts, with all their parameters, and settings the run has."""
    parts = full(run.parts)
    for name, method in compositions().items():
        if full(method.parts) == parts and run.changed(**method.settings) == run:
            return name
    return None

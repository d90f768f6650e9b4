"""Objects that a run is given in place of some settings, and what identifies it then."""

import hashlib
import inspect
import re
import types
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np
import torch
from torch import Tensor, nn

from fedbench.base import registry
from fedbench.base.checks import Checked
from fedbench.base.checksums import digest
from fedbench.base.errors import FedbenchError, require_among, shown
from fedbench.core.part import Part
from fedbench.core.round_data import Loss
from fedbench.data.dataset import Dataset
from fedbench.data.partition import Rows
from fedbench.sampling.sampler import Sampler
from fedbench.spec import SLUG, Choice, RunSpec
from fedbench.work.local_epochs import Work


class Objects(TypedDict, total=False):
    """Objects that a caller of `run` may give in place of what the spec names."""

    data: Dataset
    model: nn.Module
    partition: Rows
    parts: tuple[Part, ...]
    sampler: Sampler
    work: Work
    probes: tuple[Checked, ...]
    loss: Loss


class _Form(NamedTuple):
    """Of an object: the field of the settings that it replaces, what it must be, and its class."""

    field: str
    words: str
    of: Any
    kind: str = ""  # under which plug-ins of its name are registered, if they are


_FORMS = {
    "data": _Form("dataset", "a Dataset", Dataset),
    "model": _Form("model", "a torch.nn.Module", nn.Module),
    "partition": _Form("partition", "a list with the sample numbers of each client", Sequence),
    "parts": _Form("parts", "a tuple of parts, such as (FedProx(mu=0.1),)", Part, "method"),
    "sampler": _Form("sampler", "a Sampler, such as Uniform()", Sampler, "sampler"),
    "work": _Form("work", "a Work, such as Stragglers()", Work, "work"),
    "probes": _Form("watch", "a tuple of probes, such as (Steps(),)", Checked, "probe"),
    "loss": _Form("loss", "a function of logits and labels", Callable),
}
_SEVERAL = ("parts", "probes")
_UNKNOWN = "unknown"  # marks an object whose content cannot be described
_AROUND: ContextVar[tuple[int, ...]] = ContextVar("_AROUND", default=())  # what is described now
_OF_ANY_MODULE = {*vars(nn.Module())}  # weights and children are described by themselves
_HOOKS = sorted(k for k in _OF_ANY_MODULE if re.fullmatch("_(forward|backward)(_pre)?_hooks", k))
_PLAIN = (type(None), bool, int, float, str)
_SHIPPED = ("fedbench.", "torch.", "builtins.", "abc.")  # modules whose code their version tells


@dataclass(frozen=True)
class Identity:
    """The settings of a run, and descriptions of objects by the fields that they replace."""

    spec: RunSpec
    objects: Mapping[str, Any] = field(default_factory=dict)

    def settings(self) -> dict[str, Any]:
        """The settings that differ from the defaults, with objects in place of their fields."""
        return self.spec.settings() | dict(self.objects)

    @property
    def id(self) -> str:
        """The run's name: readable words and 12 hexadecimal digits of the settings' hash."""
        if not self.objects:
            return self.spec.id
        words = [self._word(name) for name in ("dataset", "model", "partition", "parts")]
        text = re.sub(r"[^A-Za-z0-9_.-]+", "-", "-".join(words))
        return f"{text[:SLUG]}-s{self.spec.seed}-{digest(self.settings())}"

    def _word(self, name: str) -> str:
        value = self.objects.get(name, getattr(self.spec, name))
        if name == "parts":
            words = [_class(x) if isinstance(x, dict) else x.name for x in value]
            return "-".join(words) or "fedavg"
        if isinstance(value, Choice):
            return value.name
        return str(value["name"]) if "name" in value else _class(value)

    def require_known(self, place: str) -> None:
        """Raise `FedbenchError` if two different runs could have this identity."""
        for name, description in self.objects.items():
            if culprit := _unknown(description):
                raise FedbenchError(
                    f"{place}: a run cannot be stored with the {name} that was given, since the "
                    f"content of {culprit} is not known; make it a dataclass of plain values"
                )


def named(spec: RunSpec, objects: Mapping[str, Any]) -> tuple[RunSpec, dict[str, Any]]:
    """The settings, where objects stand by name, and by their field those that have none."""
    unnamed = {}
    for name, value in objects.items():
        require_among("", "object", name, _FORMS)
        form, several = _FORMS[name], name in _SEVERAL
        each = value if several else (value,)
        listed = isinstance(value, list | tuple)
        if (several and not listed) or not all(isinstance(x, form.of) for x in each):
            raise FedbenchError(f"{name}: {shown(value)} must be {form.words}")
        choices = tuple(_choice(form.kind, x) for x in each) if form.kind else (None,)
        own = None in choices  # no name says what it is
        if own:
            unnamed[form.field] = value
        if form.kind:
            told: Any = choices if several else choices[0]
            usual = RunSpec.model_fields[form.field].default
            spec = spec.changed(**{form.field: usual if own else told})
        if name == "parts" and own:
            spec = spec.changed(**{k: x for part in value for k, x in part.SETTINGS.items()})
    return spec, unnamed


def _choice(kind: str, value: Any) -> Choice | None:
    """The object as a name with parameters; None unless it has a name and plain parameters."""
    name = type(value).__name__.lower()
    entry = registry.entries(kind).get(name)
    if entry is None or _qualified(type(value)) != f"{entry.module}.{entry.attribute}":
        return None
    params = {f.name: getattr(value, f.name) for f in fields(value)}
    tuples = (each if isinstance(each, tuple) else (each,) for each in params.values())
    if not all(isinstance(each, _PLAIN) for values in tuples for each in values):
        return None
    changed = {f.name for f in fields(value) if params[f.name] != f.default}
    return Choice(name=name, params={key: params[key] for key in params if key in changed})


def _class(description: Any) -> str:
    """The last word of a described object's class, in lower case; the word 'own' if it has none."""
    name = description.get("class", "own") if isinstance(description, dict) else "own"
    return str(name).rpartition(".")[2].lower()


def described(value: Any) -> Any:
    """A description of a value: plain values as they are, others by class and checksums."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, np.generic | Path):
        return value.item() if isinstance(value, np.generic) else str(value)
    if isinstance(value, Mapping):
        return {str(k): described(v) for k, v in value.items()}
    if isinstance(value, set | frozenset):  # which have another order in each process
        return sorted(map(repr, value))
    if isinstance(value, Sequence):
        return [described(v) for v in value]
    if isinstance(value, np.ndarray | Tensor):
        return _array(value)
    around = _AROUND.get()
    if id(value) in around:  # such as a module that one of its children knows
        return {"class": _qualified(type(value)), "around": around.index(id(value))}
    token = _AROUND.set((*around, id(value)))
    try:
        return _object(value)
    finally:
        _AROUND.reset(token)


def _qualified(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"


def _object(value: Any) -> dict[str, Any]:
    content: dict[str, Any]
    if isinstance(value, Dataset):
        content = {"name": value.name, "checksum": value.checksum}
    elif isinstance(value, nn.Module):
        content = _module(value)
    elif isinstance(value, types.FunctionType):
        return _function(value)
    elif isinstance(value, Checked) or (is_dataclass(value) and not isinstance(value, type)):
        own = [f.name for f in fields(value)] if is_dataclass(value) else vars(value)
        content = {"parameters": {name: described(getattr(value, name)) for name in own}}
        if code := _code_of(type(value)):
            content["code"] = code
    else:
        called = callable(value) and hasattr(value, "__module__") and hasattr(value, "__qualname__")
        return {_UNKNOWN: _qualified(value if called else type(value))}
    return {"class": _qualified(type(value)), **content}


def _module(module: nn.Module) -> dict[str, Any]:
    """The shapes of the parameters, and a checksum of structure, code and present values."""
    checksum = hashlib.sha256(repr(module).encode())
    for layer in module.modules():
        ours = f"{type(layer).__module__}.".startswith(_SHIPPED)  # what is private follows from it
        hidden = {*_OF_ANY_MODULE, *(k for k in vars(layer) if ours and k.startswith("_"))}
        own = {k: v for k, v in vars(layer).items() if k not in hidden}
        hooks = {k: [*vars(layer)[k].values()] for k in _HOOKS if vars(layer)[k]}
        told = {name: _settled(value) for name, value in (own | hooks).items()}
        checksum.update(digest([told, _code_of(type(layer))]).encode())
    for name, value in module.state_dict(keep_vars=True).items():
        checksum.update(f"{name} {value.requires_grad} {_array(value)}".encode())
    shapes = {name: list(value.shape) for name, value in module.named_parameters()}
    return {"parameters": shapes, "checksum": checksum.hexdigest()}


def _code_of(kind: type) -> str:
    """A checksum of what others wrote of a class and its base classes; '' if that is nothing."""
    written = {}
    for each in kind.__mro__:
        for name, value in {} if f"{each.__module__}.".startswith(_SHIPPED) else vars(each).items():
            bare = getattr(value, "fget", getattr(value, "__func__", value))
            bare = inspect.unwrap(bare) if callable(bare) else bare
            if isinstance(bare, types.FunctionType):
                written[f"{each.__qualname__}.{name}"] = described(bare)
            elif not name.startswith(("__", "_abc_")):
                written[f"{each.__qualname__}.{name}"] = _settled(bare)
    return digest(written) if written else ""


def _settled(value: Any) -> Any:
    """A description of a value, or how it shows itself where its content is not known."""
    told = described(value)
    return re.sub(" at 0x[0-9a-f]+", "", repr(value)) if _unknown(told) else told


def _function(function: types.FunctionType) -> dict[str, Any]:
    """Name, code, defaults and closure of a function; not what it reads from its module."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    inner = {"closure": cells, "defaults": function.__defaults__, "named": function.__kwdefaults__}
    captured = {key: described(value) for key, value in inner.items() if value}
    code = hashlib.sha256(_code(function.__code__)).hexdigest()
    return {"class": _qualified(function), "checksum": code, **captured}


def _code(code: types.CodeType) -> bytes:
    plain = (described(x) if isinstance(x, frozenset) else x for x in code.co_consts)
    inner = [_code(x) if isinstance(x, types.CodeType) else repr(x).encode() for x in plain]
    return b" ".join([code.co_code, repr(code.co_names).encode(), *inner])


def _array(value: Any) -> dict[str, Any]:
    own = isinstance(value, Tensor)
    array = value.detach().cpu() if own else torch.as_tensor(np.array(value, order="C"))
    content = array.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    kind = str(array.dtype).removeprefix("torch.")
    checksum = hashlib.sha256(content).hexdigest()
    return {"dtype": kind, "shape": list(array.shape), "checksum": checksum}


def _unknown(description: Any) -> str:
    """The first object in a description whose content is not described; '' if there is none."""
    if isinstance(description, dict):
        if _UNKNOWN in description:
            return str(description[_UNKNOWN])
        description = list(description.values())
    inner = (_unknown(each) for each in description) if isinstance(description, list) else ()
    return next((name for name in inner if name), "")

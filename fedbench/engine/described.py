"""Descriptions of objects, by which two that differ are told apart: classes and checksums."""

import hashlib
import types
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fedbench.base.checks import Checked
from fedbench.data.dataset import Dataset

_UNKNOWN = "unknown"  # marks an object whose content cannot be described
_PLAIN = (type(None), bool, int, float, str)


def described(value: Any) -> Any:
    """A description of a value: plain values as they are, others by class and checksums."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, np.generic | Path):
        return value.item() if isinstance(value, np.generic) else str(value)
    if isinstance(value, Mapping):
        return {str(k): described(v) for k, v in value.items()}
    if isinstance(value, Sequence):
        return [described(v) for v in value]
    if isinstance(value, np.ndarray | Tensor):
        return _array(value)
    return _object(value)


def plain(value: Any) -> bool:
    """Whether a value can be written in a YAML file: a number, a word, or a list of these."""
    if isinstance(value, tuple):
        return all(isinstance(each, _PLAIN) for each in value)
    return isinstance(value, _PLAIN)


def qualified(value: Any) -> str:
    """The name of a class or function, with its module."""
    return f"{value.__module__}.{value.__qualname__}"


def _object(value: Any) -> dict[str, Any]:
    content: dict[str, Any]
    if isinstance(value, Dataset):
        content = {"name": value.name, "checksum": value.checksum}
    elif isinstance(value, nn.Module):
        content = _module(value)
    elif isinstance(value, types.FunctionType):
        return _function(value)
    elif is_dataclass(value) and not isinstance(value, type):
        content = {"parameters": {f.name: described(getattr(value, f.name)) for f in fields(value)}}
    elif isinstance(value, Checked):
        content = {"parameters": described(vars(value))}
    else:
        called = callable(value) and hasattr(value, "__module__") and hasattr(value, "__qualname__")
        return {_UNKNOWN: qualified(value if called else type(value))}
    return {"class": qualified(type(value)), **content}


def _module(module: nn.Module) -> dict[str, Any]:
    """The shapes of the parameters, and a checksum of the structure and the present values."""
    checksum = hashlib.sha256(repr(module).encode())
    for name, value in module.state_dict(keep_vars=True).items():
        checksum.update(f"{name} {value.requires_grad} {_array(value)}".encode())
    shapes = {name: list(value.shape) for name, value in module.named_parameters()}
    return {"parameters": shapes, "checksum": checksum.hexdigest()}


def _function(function: types.FunctionType) -> dict[str, Any]:
    """Name, code, defaults and closure of a function; not what it reads from its module."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    inner = {"closure": cells, "defaults": function.__defaults__, "named": function.__kwdefaults__}
    captured = {key: described(value) for key, value in inner.items() if value}
    code = hashlib.sha256(_code(function.__code__)).hexdigest()
    return {"class": qualified(function), "checksum": code, **captured}


def _code(code: types.CodeType) -> bytes:
    inner = [
        _code(x) if isinstance(x, types.CodeType) else repr(x).encode() for x in code.co_consts
    ]
    return b" ".join([code.co_code, repr(code.co_names).encode(), *inner])


def _array(value: Any) -> dict[str, Any]:
    array = value.detach().cpu() if isinstance(value, Tensor) else torch.as_tensor(value)
    content = array.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    kind = str(array.dtype).removeprefix("torch.")
    checksum = hashlib.sha256(content).hexdigest()
    return {"dtype": kind, "shape": list(array.shape), "checksum": checksum}


def unknown(description: Any) -> str:
    """The first object in a description whose content is not described; '' if there is none."""
    if isinstance(description, dict):
        if _UNKNOWN in description:
            return str(description[_UNKNOWN])
        description = list(description.values())
    inner = (unknown(each) for each in description) if isinstance(description, list) else ()
    return next((name for name in inner if name), "")

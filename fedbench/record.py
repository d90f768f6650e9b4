"""What run.json says about a run."""

import platform
from collections.abc import Mapping
from importlib import metadata
from typing import Any

import torch

from fedbench.problem import Problem

_PACKAGES = ("fedbench", "torch", "numpy")


def describe(
    problem: Problem, status: str, rounds: int, seconds: Mapping[str, float], mode: str
) -> dict[str, Any]:
    """Settings, outcome, versions, device, seconds by phase, and where the data came from."""
    spec = problem.spec
    return {
        "id": spec.id,
        "status": status,
        "rounds": rounds,
        "settings": spec.settings(),
        "resolved": spec.model_dump(mode="json"),
        "seconds": {phase: round(value, 3) for phase, value in seconds.items()},
        "device": device_name(problem.device),
        "mode": mode,
        "versions": {name: metadata.version(name) for name in _PACKAGES}
        | {"python": platform.python_version()},
        "data": {"name": problem.data.name, **problem.data.origin},
        "parameters": problem.fed.d,
        "samples": [len(rows) for rows in problem.rows],
    }


def device_name(device: torch.device) -> str:
    """'cpu', or the GPU's name."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"

"""What run.json says about a run."""

import platform
from importlib import metadata
from typing import Any

import torch

from fedbench.problem import Problem
from fedbench.progress import Progress

_PACKAGES = ("fedbench", "torch", "numpy")


def describe(problem: Problem, status: str, progress: Progress, mode: str) -> dict[str, Any]:
    """Settings, outcome, versions, device, seconds by phase, and where the data came from."""
    spec, objects = problem.spec, dict(problem.identity.objects)
    return {
        "id": problem.identity.id,
        "status": status,
        "rounds": progress.round,
        "settings": problem.identity.settings(),
        "resolved": spec.model_dump(mode="json") | objects,
        **({"objects": sorted(objects)} if objects else {}),
        "seconds": {phase: round(value, 3) for phase, value in progress.seconds.items()},
        "sample_passes": progress.passes,
        "floats": {"down": progress.traffic.down, "up": progress.traffic.up},
        "device": device_name(problem.device),
        "mode": mode,
        "versions": {name: metadata.version(name) for name in _PACKAGES}
        | {"python": platform.python_version()},
        "data": {
            "name": problem.data.name,
            **problem.data.origin,
            "checksum": problem.data.checksum,
        },
        "parameters": problem.fed.d,
        "samples": [len(rows) for rows in problem.rows],
    }


def device_name(device: torch.device) -> str:
    """'cpu', or the GPU's name."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"

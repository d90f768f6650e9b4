"""What a run was computed with: the code, the packages, the processor."""

import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from fedbench import __version__

_PACKAGES = (
    *("numpy", "scipy", "scikit-learn", "torchvision", "timm"),
    *("transformers", "tokenizers", "curvlinops-for-pytorch", "pandas", "pyarrow"),
)
_PACKAGE = Path(__file__).parents[1]


@cache
def code() -> Mapping[str, Any]:
    """In a checkout: its git commit, and whether files of the package differ from it; else nothing.

    An installed package may lie in somebody else's repository, which does not track its files.
    """
    commit = _git("rev-parse", "HEAD")
    if commit is None or _git("ls-files", "--error-unmatch", "__init__.py") is None:
        return {}
    return {"commit": commit, "dirty": bool(_git("status", "--porcelain", "--", "."))}


@cache
def versions() -> Mapping[str, str]:
    """Of Python, of PyTorch's build, and of the packages that may change a number."""
    found = {name: _version(name) for name in _PACKAGES}
    packages = {name: version for name, version in found.items() if version}
    own = {"torch": str(torch.__version__), "python": platform.python_version()}
    return {"fedbench": __version__} | packages | own


def _version(package: str) -> str:
    """'' where an extra was not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def machine() -> str:
    """The kind of CPU, and the instructions that PyTorch uses on it, which decide the last bits."""
    return f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"


@cache
def processor() -> str:
    """The CPU's name as the system says it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # not Linux
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def device_name(device: torch.device) -> str:
    """'cpu', or the GPU's name."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


def _git(*words: str) -> str | None:
    """What git says in the package's folder; None if it refuses, or is not there."""
    command = ["git", "-C", str(_PACKAGE), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()

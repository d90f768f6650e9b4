"""The environments of the peers: one folder each, with the versions in `peers/<name>.txt`."""

from pathlib import Path

from speed.process import BENCHMARKS

PEERS = {"pfl": "pfl-research", "flower": "Flower", "fedlab": "FedLab"}
_FOLDER = BENCHMARKS / ".envs"


def python(peer: str) -> Path:
    """The Python of a peer's environment."""
    return _FOLDER / peer / "bin/python"


def title(peer: str) -> str:
    """A peer's name and version, as pinned."""
    pinned = next(line for line in _pins(peer).splitlines() if line and not line.startswith("#"))
    return f"{PEERS[peer]} {pinned.partition('==')[2]}"


def missing(peer: str) -> str:
    """Why a peer cannot be measured; empty if it can."""
    return "" if python(peer).exists() else "not installed"


def _pins(peer: str) -> str:
    return (BENCHMARKS / "peers" / f"{peer}.txt").read_text(encoding="utf-8")

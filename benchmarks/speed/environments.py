"""The environments of the peers: one folder each, made when asked for, with pinned versions."""

import shutil
import subprocess
import sys
from pathlib import Path

from speed.commands import BENCHMARKS

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
    failed = _FOLDER / f"{peer}.failed"
    if failed.exists():
        return f"cannot be installed: {failed.read_text(encoding='utf-8')}"
    if not _done(peer).exists():
        return "not installed"
    if _done(peer).read_text(encoding="utf-8") != _pins(peer):
        return "installed in another version; install it again"
    return ""


def install(peer: str) -> str:
    """Make a peer's environment anew unless it is as pinned; returns why that failed, or ''."""
    if not missing(peer):
        return ""
    shutil.rmtree(_FOLDER / peer, ignore_errors=True)
    (_FOLDER / f"{peer}.failed").unlink(missing_ok=True)
    pip = ["-m", "pip", "install", "--quiet", "-r", str(_file(peer))]
    for words in ([sys.executable, "-m", "venv", str(_FOLDER / peer)], [str(python(peer)), *pip]):
        done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            return _give_up(peer, done.stderr)
    _done(peer).write_text(_pins(peer), encoding="utf-8")
    return ""


def _give_up(peer: str, errors: str) -> str:
    lines = [line for line in errors.splitlines() if line.startswith("ERROR")] or [errors.strip()]
    (_FOLDER / f"{peer}.failed").write_text(lines[-1], encoding="utf-8")
    shutil.rmtree(_FOLDER / peer, ignore_errors=True)
    return lines[-1]


def _file(peer: str) -> Path:
    return BENCHMARKS / "peers" / f"{peer}.txt"


def _pins(peer: str) -> str:
    return _file(peer).read_text(encoding="utf-8")


def _done(peer: str) -> Path:
    return _FOLDER / peer / "installed.txt"

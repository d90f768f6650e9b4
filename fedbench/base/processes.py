"""The processes of this machine: which of them live, what this one may use and how it prints."""

import io
import os
import sys
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

_SECONDS = 5.0  # by which the system's clock may have been set since a process began
_held: list[FileLock] = []  # a lock is freed when nobody refers to it any more


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def began(pid: int) -> float | None:
    """When the process of this machine began, in seconds since 1970; None if there is none."""
    import psutil  # few processes need it

    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return None


def alive(pid: int, since: float | None = None, by: float | None = None) -> bool:
    """Whether a process lives on this machine that began then, or `by` then: numbers come again."""
    import psutil

    now = began(pid)
    if now is None:
        return bool(psutil.pid_exists(pid))  # of another user, of whom no more is known
    if by is not None:
        return now < by + _SECONDS
    return since is None or abs(now - since) < _SECONDS


def take(file: Path) -> bool:
    """Lock the file until this process ends; returns whether no other process has it."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(file, timeout=0, fallback_to_soft=False)
        lock.acquire()
    except Timeout:
        return False
    except (OSError, NotImplementedError):  # a file system without locks
        return True
    _held.append(lock)
    return True


def print_anything() -> None:
    """Write characters that the output's encoding lacks, such as 'α' in Latin-1, as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with suppress(OSError):  # a file when Python began, and a pipe now
                stream.reconfigure(errors="backslashreplace")

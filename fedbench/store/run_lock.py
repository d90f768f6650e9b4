"""One process trains a run at a time; what a killed one left half-written is deleted."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from filelock import FileLock, Timeout

from fedbench.base import signals
from fedbench.base.files import PARTIAL, matching
from fedbench.store.run import RunFolder

_LOCK = ".lock"
_PAUSE = 0.5  # seconds between two tries to get the lock


@contextmanager
def locked(folder: RunFolder, say: Callable[[str], None] = print) -> Iterator[None]:
    """Hold the folder: another process that trains the same run waits until this one has ended.

    The system frees the lock of a process that was killed. On a file system without locks nothing
    is held. The process that holds the folder may enter again.
    """
    file = folder.path / _LOCK
    lock = FileLock(file, is_singleton=True, fallback_to_soft=False)
    first = not lock.is_locked
    with suppress(OSError, NotImplementedError):
        _acquire(lock, folder, say)
    try:
        if first and lock.is_locked:  # delete what a killed process had not written to its end
            for partial in matching(folder.path, f".*{PARTIAL}"):
                with suppress(OSError):
                    partial.unlink()
        yield
    finally:
        if first and lock.is_locked:
            with suppress(OSError):
                file.unlink()
        lock.release()


def _acquire(lock: FileLock, folder: RunFolder, say: Callable[[str], None]) -> None:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        say(f"{folder.path}: another process trains this run; waiting until it has ended")
        try:
            lock.acquire(poll_interval=_PAUSE, cancel_check=lambda: bool(signals.requested()))
        except Timeout:
            signals.stop_if_requested(f"while another process trained the run in {folder.path}")

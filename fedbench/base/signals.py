"""Signals that ask to stop: the first is obeyed where work can go on later, a second at once."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP)
_DEFAULTS = (signal.SIG_DFL, signal.default_int_handler)
# Ctrl-C reaches every process of a terminal, and a workflow hands it on to those that it started:
# what comes again within a second is the same request.
_ECHO = 1.0


class Stopped(SystemExit):
    """Work was stopped by a signal; the exit code is the one that shells use, 128 + its number."""

    def __init__(self, by: signal.Signals, where: str) -> None:
        super().__init__(f"stopped by {by.name} {where}")
        self.code = 128 + by


class _Request:
    """The signal that has come, when, and the handlers of those that this process listens to."""

    by: signal.Signals | None = None
    at = 0.0
    before: Mapping[signal.Signals, Any] = {}


def requested() -> signal.Signals | None:
    """The signal that asked this process to stop, if one has."""
    return _Request.by


def stop_if_requested(where: str) -> None:
    """Raise `Stopped` if a signal has asked for it."""
    if _Request.by:
        raise Stopped(_Request.by, where)


@contextmanager
def stoppable() -> Iterator[None]:
    """Signals stop the work in the block at its next `stop_if_requested`; then say where.

    The outermost of nested blocks listens, in the main thread alone. Handlers of the caller stay.
    """
    if _Request.before or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.getsignal(each) for each in SIGNALS}
    _Request.before = {each: own for each, own in before.items() if own in _DEFAULTS}
    try:
        with handled(dict.fromkeys(_Request.before, _note)):
            yield
    except Stopped as stopped:
        _say(f"{stopped}\n")
        raise
    except KeyboardInterrupt:
        if _Request.by is None:
            raise
        raise Stopped(signal.SIGINT, "at once") from None
    finally:
        late, _Request.by, _Request.before = _Request.by, None, {}
        if late and sys.exc_info()[0] is None:
            os.kill(os.getpid(), late)  # it came after the last question: it is for the caller


@contextmanager
def handled(handlers: Mapping[signal.Signals, Any]) -> Iterator[None]:
    """Have these handlers of signals in the block, and after it those from before."""
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _note(number: int, _: object) -> None:
    by = signal.Signals(number)
    if _Request.by is None:
        _Request.by, _Request.at = by, time.monotonic()
        _say(f"{by.name}: stops after this round; a second signal stops at once\n")
    elif time.monotonic() - _Request.at > _ECHO:
        signal.signal(by, _Request.before[by])
        os.kill(os.getpid(), number)


def _say(line: str) -> None:
    """Write to stderr itself: a handler may interrupt a print, and the terminal may be gone."""
    with suppress(OSError):
        os.write(2, line.encode())

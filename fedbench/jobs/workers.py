"""Passes signals that ask a workflow to stop on to the processes that it trains in."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import FrameType

import psutil

_COMMAND = ["-m", "fedbench", "train"]
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def pass_signals_on() -> None:
    """From now on Ctrl-C and SIGTERM reach the workers too, which stop after their round.

    Snakemake itself waits then until its jobs have ended.
    """
    for each in _SIGNALS:
        signal.signal(each, _both(signal.getsignal(each)))


def _both(before: object) -> Callable[[int, FrameType | None], None]:
    def handle(number: int, frame: FrameType | None) -> None:
        for pid in _workers():
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        if callable(before):
            before(number, frame)

    return handle


def _workers() -> Iterator[int]:
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            words = process.cmdline()
            if _COMMAND in (words[1:4], words[2:5]):  # Python may have an option, -P
                yield process.pid

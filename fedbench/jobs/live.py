"""Sends the evaluated rounds of runs to a tracker while they train, and never holds a run up.

A second thread sends them. If the tracker fails or is away, one line says so, the process waits at
most ten seconds in all, and the runs go on without it.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from queue import SimpleQueue
from threading import Thread
from typing import Protocol

from fedbench.base.errors import FedbenchError, short
from fedbench.engine.progress import Row
from fedbench.engine.training import Watch
from fedbench.spec import RunSpec

PATIENCE = 10.0  # seconds that a process waits for a tracker, once


class Tracker(Protocol):
    """Where the rounds of one run are sent to."""

    def tell(self, row: Row) -> None:
        """Send an evaluated round."""

    def close(self) -> None:
        """Send what is left; the run has ended, or was stopped."""


Open = Callable[[RunSpec], Tracker]
Follow = Callable[[RunSpec], AbstractContextManager[Watch]]


@contextmanager
def nobody(spec: RunSpec) -> Iterator[Watch]:
    """A `Follow` that sends nothing anywhere."""
    yield lambda row: None


class Live:
    """Follows run after run with a tracker each; after a failure it opens no more of them."""

    def __init__(self, opener: Open, say: Callable[[str], None]) -> None:
        self._open, self._say, self._lost = opener, say, False

    @contextmanager
    def following(self, spec: RunSpec) -> Iterator[Watch]:
        """A function to be called with each evaluated round of the run; it returns at once."""
        if self._lost:
            yield lambda row: None
            return
        sender = _Sender(self._open, spec)
        sender.start()
        try:
            yield sender.rows.put
        finally:
            trouble = sender.finish()
            if trouble:
                self._lost = True
                self._say(f"live: {trouble}; the runs go on without it")


class _Sender(Thread):
    """Sends the rows of one run until it is told that no more come."""

    def __init__(self, opener: Open, spec: RunSpec) -> None:
        super().__init__(name="live", daemon=True)  # a process may end while it still waits
        self.rows: SimpleQueue[Row | None] = SimpleQueue()
        self._open, self._spec, self._trouble = opener, spec, ""

    def run(self) -> None:
        try:
            tracker = self._open(self._spec)
            while (row := self.rows.get()) is not None:
                tracker.tell(row)
            tracker.close()
        except Exception as error:  # whatever a tracker raises, the run goes on
            self._trouble = str(error) if isinstance(error, FedbenchError) else short(error)

    def finish(self) -> str:
        """Wait for the last rows; what went wrong, in words, or '' for nothing."""
        self.rows.put(None)
        self.join(PATIENCE)
        return f"no answer within {PATIENCE:g} s" if self.is_alive() else self._trouble

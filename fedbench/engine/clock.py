"""Times the phases of a round; on a GPU by events, so that nothing waits for the GPU meanwhile."""

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import torch


class Clock:
    """Adds up seconds by phase: `with clock.phase("train")`, then `settle` once per round."""

    def __init__(self, device: torch.device) -> None:
        self._on_gpu = device.type == "cuda"
        self._timed: list[tuple[str, Any, Any]] = []

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time what is computed inside."""
        began = self._now()
        yield
        self._timed.append((name, began, self._now()))

    def settle(self, seconds: dict[str, float]) -> None:
        """Add the phases since the last call to `seconds`; on a GPU, wait until they have ended."""
        for name, began, ended in self._timed:
            seconds[name] += self._between(began, ended)
        self._timed.clear()

    def _now(self) -> Any:
        if not self._on_gpu:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]  # no types
        event.record()
        return event

    def _between(self, began: Any, ended: Any) -> float:
        if not self._on_gpu:
            return float(ended - began)
        ended.synchronize()
        return float(began.elapsed_time(ended)) / 1000  # from milliseconds

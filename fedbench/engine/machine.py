"""Where and how a run is computed, and how long it takes; nothing here changes its result."""

import contextlib
import ctypes
import itertools
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import torch

from fedbench.base.checks import Checked, Count, Positive
from fedbench.base.errors import FedbenchError, failing
from fedbench.base.processes import cores, take

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True)
class Machine(Checked):
    """The machine's settings.

    device: 'auto' takes a GPU if there is one, as 'cuda' does, of several the one that fewest
    processes have; workers: threads that train clients and score, by default one per core on a CPU,
    one on a GPU; keep_model: store the final weights beside the history; checkpoint_minutes: time
    between two checkpoints; state_gb: memory for what is stored per client, beyond which it lies on
    disk.
    """

    device: str = "auto"
    workers: Count | None = None
    checkpoint_minutes: Positive = 5.0
    keep_model: bool = False
    state_gb: Positive = 4.0

    def torch_device(self) -> torch.device:
        """The device; raises `FedbenchError` if this machine does not have it."""
        if self.device == "auto":
            return own_gpu() if torch.cuda.is_available() else torch.device("cpu")
        if not re.fullmatch(r"(cpu|cuda)(:\d+)?", self.device):
            raise FedbenchError(
                f"device = {self.device!r} is not allowed; it must be auto, cpu, cuda or cuda:<n>"
            )
        with failing(f"device = {self.device!r} cannot be used here"):
            torch.empty(0, device=self.device)
        return own_gpu() if self.device == "cuda" else torch.device(self.device)

    def threads(self) -> int:
        """How many threads train and score at the same time."""
        return self.workers or (cores() if self.torch_device().type == "cpu" else 1)


@cache
def own_gpu() -> torch.device:
    """The GPU that the fewest processes of this user have taken; it is this process's from now on.

    Each process holds the lock of a GPU's first free place; without locks all get the first GPU.
    """
    count = torch.cuda.device_count()
    if count < 2:
        return torch.device("cuda")
    folder = Path(tempfile.gettempdir()) / f"fedbench-gpus-{os.getuid()}"
    # jobs may see other GPUs each, and name them by other numbers
    seen = os.environ.get("CUDA_VISIBLE_DEVICES", "").replace(" ", "").split(",")
    own: Sequence[object] = seen if seen[0] and len(seen) >= count else range(count)
    files = (folder / f"{own[i % count]}-{i // count}.lock" for i in itertools.count())
    place = next(i for i, file in enumerate(files) if take(file))
    gpu = torch.device("cuda", place % count)
    torch.cuda.set_device(gpu)  # for code that asks for 'cuda' alone
    return gpu


def same_bits_on(device: torch.device) -> torch.device:
    """The device, made to compute float32 as float32, and the same run the same bits each time.

    Left alone a GPU rounds float32 to ten bits (TF32), and adds in whichever order threads end.
    """
    if device.type != "cuda":
        return device
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # or matrix products may differ
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    torch.use_deterministic_algorithms(True, warn_only=True)
    # which nothing here reads; PyTorch's types do not know the setting
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    return device


@contextlib.contextmanager
def float32_by_default() -> Iterator[None]:
    """New tensors are float32 in this context; `FedbenchError` if its code sets something else.

    They have gradients, too, where a caller has put PyTorch into inference mode.
    """
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        with torch.inference_mode(False):
            yield
        after = torch.get_default_dtype()
        if after != torch.float32:
            raise FedbenchError(
                f"code of the run, such as a part or model, set PyTorch's default dtype to "
                f"{str(after).removeprefix('torch.')}; set precision: float64 for double precision"
            )
    finally:
        torch.set_default_dtype(before)


def one_thread_a_process() -> None:
    """Make torch use one thread, which is faster on small models where each core has a process.

    Without the settings of the allocator glibc returns every batch's memory to the kernel, which
    costs up to half the speed.
    """
    torch.set_num_threads(1)
    trim_threshold, top_pad, mmap_threshold = -1, -2, -3
    with contextlib.suppress(OSError):  # not glibc: nothing to tune
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(mmap_threshold, 2**30)
        libc.mallopt(trim_threshold, 2**31 - 1)
        libc.mallopt(top_pad, 2**28)


@cache
def _pool(count: int) -> ThreadPoolExecutor:
    # One for all runs of a process. MKL takes a lock when a thread ends, and a worker process that
    # is forked just then waits for it for ever.
    return ThreadPoolExecutor(count)


os.register_at_fork(after_in_child=_pool.cache_clear)


def in_threads(count: int, function: Callable[[A], B], items: Iterable[A]) -> list[B]:
    """The function of each item, in order; a thread takes the next item as soon as it is done."""
    with one_thread_per_operation():
        if count == 1:
            return [function(item) for item in items]
        return list(_pool(count).map(function, items))


@contextlib.contextmanager
def one_thread_per_operation() -> Iterator[None]:
    """With more threads inside an operation, the order of a sum and so its bits could differ."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Clock:
    """Adds up seconds by phase; on a GPU by events, so that nothing waits for it meanwhile."""

    def __init__(self, device: torch.device) -> None:
        self._device, self._on_gpu = device, device.type == "cuda"
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
            if self._on_gpu:
                ended.synchronize()
            seconds[name] += began.elapsed_time(ended) / 1000 if self._on_gpu else ended - began
        self._timed.clear()

    def _now(self) -> Any:
        if not self._on_gpu:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]  # no types
        event.record(torch.cuda.current_stream(self._device))
        return event

"""Which of several GPUs a process computes on, so that the jobs of a machine spread over them."""

import itertools
import os
import tempfile
from functools import cache
from pathlib import Path

import torch
from filelock import FileLock, Timeout

_held: list[FileLock] = []  # until the process ends, however it does


@cache
def own_gpu() -> torch.device:
    """The GPU that the fewest processes of this user have taken; it is this process's from now on.

    Each process holds a file's lock: the first place of a GPU, if any is free, else the second of
    one, and so on. Where there are no locks, all processes get the first GPU.
    """
    count = torch.cuda.device_count()
    if count < 2:
        return torch.device("cuda")
    folder = Path(tempfile.gettempdir()) / f"fedbench-gpus-{os.getuid()}"
    try:
        folder.mkdir(exist_ok=True)
        place = next(i for i in itertools.count() if _take(folder / _name(i, count)))
    except (OSError, NotImplementedError):
        place = 0
    gpu = torch.device("cuda", place % count)
    torch.cuda.set_device(gpu)  # for code that asks for 'cuda' alone
    return gpu


def _name(place: int, count: int) -> str:
    """The file of a place; jobs may see other GPUs each, and name them by other numbers."""
    seen = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    number = place % count
    gpu = seen[number].strip() if number < len(seen) and seen[0] else str(number)
    return f"{gpu}-{place // count}.lock"


def _take(file: Path) -> bool:
    lock = FileLock(file, timeout=0, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout:
        return False
    _held.append(lock)
    return True

"""Tensors that may be too large for memory: beyond a limit they are stored in mapped files."""

import os
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from shutil import rmtree

import torch
from filelock import FileLock
from torch import Tensor

_GB = 1024**3


class Spill:
    """Makes tables and counts clients' states; what exceeds `limit_gb` in all goes to disk."""

    def __init__(self, limit_gb: float) -> None:
        self.free = limit_gb * _GB
        self._folder: Path | None = None

    def table(self, rows: int, like: Tensor) -> Tensor:
        """Zeros (rows, d), one vector per client, mapped from a file beyond the limit."""
        if self.take(rows * like.numel() * like.element_size()):
            return like.new_zeros(rows, like.numel())
        return self._mapped(rows, like)

    def _mapped(self, rows: int, like: Tensor) -> Tensor:
        size = rows * like.numel()
        handle = tempfile.NamedTemporaryFile(dir=self.folder, delete=False)  # noqa: SIM115  # mapped
        mapped = torch.from_file(handle.name, shared=True, size=size, dtype=like.dtype)
        return mapped.view(rows, like.numel())

    def keep(self, tensor: Tensor) -> Tensor:
        """The tensor itself, or if it is a table beyond the limit, its copy in a mapped file."""
        if tensor.dim() != 2 or self.take(tensor.numel() * tensor.element_size()):
            return tensor
        table = self._mapped(tensor.shape[0], tensor[0])
        return table.copy_(tensor)

    def take(self, size: int) -> bool:
        """Reserve `size` bytes of memory and return True; return False if the limit forbids it."""
        if size > self.free:
            return False
        self.free -= size
        return True

    @property
    def folder(self) -> Path:
        """A temporary folder, deleted with this object; those of killed processes go too."""
        if self._folder is None:
            _delete_abandoned()
            self._folder, lock = _make()
            weakref.finalize(self, _delete, self._folder, lock)
        return self._folder


_NAME = "fedbench-states-"  # how the folders begin; beside each lies a lock that its process holds


def _make() -> tuple[Path, FileLock]:
    handle, name = tempfile.mkstemp(".lock", _NAME)
    os.close(handle)
    lock = FileLock(name, fallback_to_soft=False)
    with suppress(OSError, NotImplementedError):  # no locks here: nobody deletes the folder
        lock.acquire(timeout=0)
    folder = Path(name).with_suffix("")
    folder.mkdir(mode=0o700)
    return folder, lock


def _delete(folder: Path, lock: FileLock) -> None:
    rmtree(folder, ignore_errors=True)
    Path(lock.lock_file).unlink(missing_ok=True)
    lock.release()


def _delete_abandoned() -> None:
    """Delete the folders of killed processes, whose locks the system has freed."""
    for file in Path(tempfile.gettempdir()).glob(f"{_NAME}*.lock"):
        lock = FileLock(file, fallback_to_soft=False)
        with suppress(OSError, RuntimeError):  # held, by another process or this, or not ours
            lock.acquire(timeout=0)
            _delete(file.with_suffix(""), lock)

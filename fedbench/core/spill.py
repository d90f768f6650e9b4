"""Large tensors: in memory up to a limit, beyond it in files that are mapped into memory."""

import tempfile
import weakref
from pathlib import Path
from shutil import rmtree

import torch
from torch import Tensor

_GB = 1024**3


class Spill:
    """Makes tables and stores clients' states; beyond `limit_gb` in all they lie on disk."""

    def __init__(self, limit_gb: float) -> None:
        self.free = limit_gb * _GB
        self._folder: Path | None = None

    def table(self, rows: int, like: Tensor) -> Tensor:
        """Zeros (rows, d), one vector per client, mapped from a file if memory is full."""
        if self.take(rows * like.numel() * like.element_size()):
            return like.new_zeros(rows, like.numel())
        return self._mapped(rows, like)

    def _mapped(self, rows: int, like: Tensor) -> Tensor:
        size = rows * like.numel()
        handle = tempfile.NamedTemporaryFile(dir=self.folder, delete=False)  # noqa: SIM115  # mapped
        mapped = torch.from_file(handle.name, shared=True, size=size, dtype=like.dtype)
        return mapped.view(rows, like.numel())

    def keep(self, tensor: Tensor) -> Tensor:
        """A tensor of a checkpoint, copied to a file if memory is full."""
        if tensor.dim() != 2 or self.take(tensor.numel() * tensor.element_size()):
            return tensor
        table = self._mapped(tensor.shape[0], tensor[0])
        return table.copy_(tensor)

    def take(self, size: int) -> bool:
        """Reserve `size` more bytes of memory; False if they do not fit."""
        if size > self.free:
            return False
        self.free -= size
        return True

    @property
    def folder(self) -> Path:
        """A temporary folder, deleted together with this object."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="fedbench-"))
            weakref.finalize(self, rmtree, self._folder, ignore_errors=True)
        return self._folder

"""Room for large tensors: in memory while it lasts, then in files mapped into memory."""

import tempfile
import weakref
from pathlib import Path
from shutil import rmtree

import torch
from torch import Tensor

_GB = 1024**3


class Spill:
    """Hands out tables and keeps clients' states; beyond `limit_gb` they live on disk."""

    def __init__(self, limit_gb: float) -> None:
        self.free = limit_gb * _GB
        self._folder: Path | None = None

    def table(self, rows: int, like: Tensor) -> Tensor:
        """A zero tensor (rows, d) for one vector a client, mapped from a file if it is large."""
        if self.take(rows * like.numel() * like.element_size()):
            return like.new_zeros(rows, like.numel())
        return self._mapped(rows, like)

    def _mapped(self, rows: int, like: Tensor) -> Tensor:
        size = rows * like.numel()
        handle = tempfile.NamedTemporaryFile(dir=self.folder, delete=False)  # noqa: SIM115  # mapped
        mapped = torch.from_file(handle.name, shared=True, size=size, dtype=like.dtype)
        return mapped.view(rows, like.numel())

    def keep(self, tensor: Tensor) -> Tensor:
        """The tensor where there is room for it, for what a checkpoint brings back."""
        if tensor.dim() != 2 or self.take(tensor.numel() * tensor.element_size()):
            return tensor
        table = self._mapped(tensor.shape[0], tensor[0])
        return table.copy_(tensor)

    def take(self, size: int) -> bool:
        """Whether `size` more bytes fit into memory; they are then taken."""
        if size > self.free:
            return False
        self.free -= size
        return True

    @property
    def folder(self) -> Path:
        """A scratch folder that goes with this object."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="fedbench-"))
            weakref.finalize(self, rmtree, self._folder, ignore_errors=True)
        return self._folder

"""Tensors that may be too large for memory: beyond a limit they are stored in mapped files."""

import tempfile
import weakref
from functools import cached_property
from pathlib import Path
from shutil import disk_usage, rmtree

import torch
from torch import Tensor

from fedbench.base.errors import FedbenchError
from fedbench.base.files import PARTIAL, abandoned, begins

_GB = 1024**3
_NAME = "fedbench-states"  # how the folders begin


class Spill:
    """Makes tables and counts clients' states; what exceeds `limit_gb` in all goes to disk."""

    def __init__(self, limit_gb: float) -> None:
        self.free = limit_gb * _GB

    def table(self, rows: int, like: Tensor) -> Tensor:
        """Zeros (rows, d), one vector per client, mapped from a file beyond the limit."""
        if self.take(rows * like.numel() * like.element_size()):
            return like.new_zeros(rows, like.numel())
        size = rows * like.numel()
        if size * like.element_size() > disk_usage(self.folder).free:
            raise FedbenchError(f"{self.folder}: no room for {rows} vectors; set TMPDIR elsewhere")
        handle = tempfile.NamedTemporaryFile(dir=self.folder, delete=False)  # noqa: SIM115  # mapped
        return torch.from_file(handle.name, shared=True, size=size, dtype=like.dtype).view(rows, -1)

    def keep(self, tensor: Tensor) -> Tensor:
        """The tensor itself, or if it is a table, its copy, as `table` stores it."""
        if tensor.dim() != 2 or not len(tensor):
            return tensor
        return self.table(len(tensor), tensor[0]).copy_(tensor)

    def take(self, size: int) -> bool:
        """Reserve `size` bytes of memory and return True; return False if the limit forbids it."""
        if size > self.free:
            return False
        self.free -= size
        return True

    @cached_property
    def folder(self) -> Path:
        """A temporary folder, deleted with this object; those of killed processes go too."""
        for other in Path(tempfile.gettempdir()).glob(f".{_NAME}.*{PARTIAL}"):
            if abandoned(other):
                rmtree(other, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(PARTIAL, begins(_NAME)))
        weakref.finalize(self, rmtree, folder, ignore_errors=True)
        return folder

"""The inputs and labels of a client's batches: made one at a time, or on a GPU several at once."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

# (indices of samples (B,), how each is cropped and flipped (B, 3) or None) -> inputs, labels
Make = Callable[[Tensor, Tensor | None], tuple[Tensor, Tensor]]
_SAMPLES = 2048  # made at once on a GPU; 25 MB of CIFAR-10


class Feed:
    """The batches of one client's turn, in order.

    A GPU takes as long to start an operation on one batch as on many, so there they share it. On a
    CPU a batch is made when it is needed, and is then still in the cache. The bits are the same.
    """

    def __init__(self, make: Make, rows: Sequence[Tensor], views: Sequence[Tensor] | None) -> None:
        self._make, self._rows, self._views = make, rows, views
        on_gpu = bool(rows) and rows[0].is_cuda
        self._together = max(1, _SAMPLES // len(rows[0])) if on_gpu else 1
        self._made: list[tuple[Tensor, Tensor]] = []
        self._next = 0

    def batch(self) -> tuple[Tensor, Tensor]:
        """Inputs (B, …) and labels (B,) of the next batch."""
        if not self._made:
            self._made = self._several()
        return self._made.pop(0)

    def _several(self) -> list[tuple[Tensor, Tensor]]:
        some = slice(self._next, self._next + self._together)
        self._next = some.stop
        rows = self._rows[some]
        view = torch.cat(list(self._views[some])) if self._views else None
        x, y = self._make(torch.cat(list(rows)), view)
        sizes = [len(batch) for batch in rows]
        return list(zip(torch.split(x, sizes), torch.split(y, sizes), strict=True))

"""The inputs and labels of a client's batches: made one at a time, or on a GPU several at once."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

# (indices of samples (B,), how each is cropped and flipped (B, 3) or None) -> inputs, labels
Make = Callable[[Tensor, Tensor | None], tuple[Tensor, Tensor]]
_SAMPLES = 2048  # made at once on a GPU; 25 MB of CIFAR-10


class Feed:
    """The batches of one client's turn, in order.

    `together` of them are made at once; by default one on a CPU, where it is used while it is still
    in the cache, and many on a GPU, which takes as long to start an operation on one batch as on
    many. The bits are the same.
    """

    def __init__(
        self,
        make: Make,
        rows: Sequence[Tensor],
        views: Sequence[Tensor] | None,
        together: int | None = None,
    ) -> None:
        self._make, self._rows, self._views = make, rows, views
        self._together = together or _together(rows)
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
        views = self._views[some] if self._views else [None]
        if len(rows) == 1:
            return [self._make(rows[0], views[0])]
        view = torch.cat(list(self._views[some])) if self._views else None
        x, y = self._make(torch.cat(list(rows)), view)
        sizes = [len(batch) for batch in rows]
        return list(zip(torch.split(x, sizes), torch.split(y, sizes), strict=True))


def _together(rows: Sequence[Tensor]) -> int:
    return max(1, _SAMPLES // len(rows[0])) if rows and rows[0].is_cuda else 1

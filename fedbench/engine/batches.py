"""The mini-batches of a client's turn: which samples, in which order, and their inputs."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from fedbench.core.rng import torch_generator

# (indices of samples (B,), how each is cropped and flipped (B, 3) or None) -> inputs, labels
Make = Callable[[Tensor, Tensor | None], tuple[Tensor, Tensor]]
_SAMPLES = 2048  # made at once on a GPU; 25 MB of CIFAR-10


def batches(
    seed: int,
    round_: int,
    client: int,
    rows: Tensor,
    batch: int | None,
    epochs: int | None,
    steps: int | None,
    drop_single: bool = False,
) -> list[Tensor]:
    """Indices of one turn's batches: `epochs` shuffled passes, or the first `steps` batches.

    rows (n,): the client's samples; batch: samples per batch, None for all of them; drop_single:
    leave out a last batch of one sample, which batch norm cannot use. Any other short last batch
    is used (convention 10).
    """
    size = batch or len(rows)
    generator = torch_generator(seed, round_, client, "batches")
    indices: list[Tensor] = []
    passes = 0
    while passes < epochs if epochs else len(indices) < (steps or 0):
        order = rows[torch.randperm(len(rows), generator=generator)]
        pieces = list(torch.split(order, size))
        if drop_single and size > 1 and len(pieces) > 1 and len(pieces[-1]) == 1:
            pieces.pop()
        indices += pieces
        passes += 1
    return indices if epochs else indices[:steps]


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

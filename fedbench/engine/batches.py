"""The mini-batches of a client's turn: which samples, shuffled, in which order."""

import torch
from torch import Tensor

from fedbench.core.rng import torch_generator


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

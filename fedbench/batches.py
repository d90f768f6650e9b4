"""Which samples a client sees, in which order: drawn outside the training code."""

import torch
from torch import Tensor

from fedbench.core import chance


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
    """Index batches of one turn: `epochs` shuffled passes, or the first `steps` batches of as many.

    rows (n,) are the client's samples; `batch` None is all of them; a short last batch is kept
    (convention 10), unless it is a single sample that batch norm could not use (`drop_single`).
    """
    size = batch or len(rows)
    generator = chance.torch_generator(seed, round_, client, "batches")
    found: list[Tensor] = []
    passes = 0
    while passes < epochs if epochs else len(found) < (steps or 0):
        order = rows[torch.randperm(len(rows), generator=generator)]
        pieces = list(torch.split(order, size))
        if drop_single and size > 1 and len(pieces) > 1 and len(pieces[-1]) == 1:
            pieces.pop()
        found += pieces
        passes += 1
    return found if epochs else found[:steps]

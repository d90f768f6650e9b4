"""Random crops and flips of training images, drawn per sample and applied a batch at a time."""

import torch
from torch import Tensor
from torch.nn import functional as F

from fedbench.base.errors import FedbenchError
from fedbench.core import chance
from fedbench.data.dataset import Dataset
from fedbench.spec import Augment


def refuse_without_images(data: Dataset) -> None:
    """Raise `FedbenchError` unless the data set holds images."""
    if len(data.shape) != 3:
        raise FedbenchError(
            f"augment: data set '{data.name}' has samples of shape {data.shape}; only images "
            "(channels, height, width) can be cropped and flipped"
        )


def views(
    augment: Augment, batches: list[Tensor], seed: int, round_: int, client: int
) -> list[Tensor]:
    """How each sample of each batch is seen: (B, 3) of row offset, column offset, flipped or not.

    Offsets are those of the window in the image padded by `crop` on every side; `crop` itself
    leaves the image where it is.
    """
    rng = chance.torch_generator(seed, round_, client, "augment")
    sizes = [len(rows) for rows in batches]
    n, pad = sum(sizes), augment.crop
    offsets = torch.randint(2 * pad + 1, (n, 2), generator=rng)
    moved = torch.rand(n, 1, generator=rng) < augment.crop_share
    flipped = torch.rand(n, 1, generator=rng) < augment.flip
    drawn = torch.cat([torch.where(moved, offsets, pad), flipped.long()], 1)
    return [view.to(batches[0].device) for view in torch.split(drawn, sizes)]


def seen(x: Tensor, view: Tensor, pad: int) -> Tensor:
    """Images (B, C, H, W) as `view` (B, 3) says; what lies outside an image is 0 (black)."""
    B, C, H, W = x.shape
    down, right, flipped = view.unsqueeze(2).unbind(1)  # (B, 1) each
    rows = torch.arange(H, device=x.device) + down
    columns = torch.arange(W, device=x.device)
    columns = torch.where(flipped == 1, W - 1 - columns, columns) + right
    places = (rows.unsqueeze(2) * (W + 2 * pad) + columns.unsqueeze(1)).view(B, 1, H * W)
    padded = F.pad(x, (pad, pad, pad, pad)).flatten(2)
    return padded.gather(2, places.expand(B, C, H * W)).view(B, C, H, W)

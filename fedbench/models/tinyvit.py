"""TinyViT, a small vision transformer that is trained from scratch."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from timm.layers.norm import LayerNorm2d
from timm.models.tiny_vit import Attention, ConvNorm, TinyVit
from torch import nn

from fedbench.base.checks import BelowOne, Count, Positive
from fedbench.data.dataset import Inputs
from fedbench.models.architecture import Architecture, BodyHead
from fedbench.models.images import at_side
from fedbench.models.layers import scaled

_HEADS, _BLOCKS, _WINDOWS = (3, 6, 12, 18), (2, 2, 6, 2), (7, 7, 14, 7)


@dataclass(frozen=True)
class TinyViT(Architecture):
    """timm's tiny_vit_21m_224 (Wu et al., ECCV 2022; ASD on ImageNet-100), without its weights.

    20,679,268 parameters with C=100. With `norm` 'ln', a layer norm over the channels of each pixel
    replaces every batch norm. `drop_path` is the largest probability that a sample skips a block.
    `width` scales the 32 channels per head, `depth` the 2, 2, 6, 2 blocks of the stages (their
    heads are 3, 6, 12, 18). Attention windows shrink to the image where it is smaller; `side`
    resizes images.
    """

    SAMPLES_PER_SECOND: ClassVar[float] = 2.5  # trained on one core, as measured
    MEGABYTES: ClassVar[tuple[float, float]] = (7400.0, 22.0)  # see plan/asked.py

    norm: Literal["ln", "bn"] = "ln"
    drop_path: BelowOne = 0.2
    width: Positive = 1.0
    depth: Positive = 1.0
    side: Count | None = None

    def build(self, inputs: Inputs) -> nn.Module:
        """Features are the globally averaged and normalised channels of the last stage (576)."""
        first, inputs = at_side("TinyViT", inputs, self.side)
        whole = self._whole(inputs)
        for layer in list(whole.modules()):
            if isinstance(layer, ConvNorm) and self.norm == "ln":
                _normalise_channels(layer)
            if isinstance(layer, Attention):
                layer.register_forward_hook(_forget)
        classifier = whole.head.fc
        whole.head.fc = nn.Identity()
        return BodyHead(nn.Sequential(first, whole), classifier)

    def _whole(self, inputs: Inputs) -> Any:
        (per_head,) = scaled([32], self.width)
        # The stem divides the side by 4, each later stage by 2, rounding up.
        sides = [-(-min(inputs.shape[1:]) // (4 * 2**stage)) for stage in range(4)]
        return TinyVit(
            in_chans=inputs.shape[0],
            num_classes=inputs.classes,
            embed_dims=tuple(heads * per_head for heads in _HEADS),
            depths=tuple(scaled(_BLOCKS, self.depth)),
            num_heads=_HEADS,
            window_sizes=tuple(map(min, _WINDOWS, sides)),
            drop_path_rate=self.drop_path,
        )


def _normalise_channels(unit: Any) -> None:
    """Replace a batch norm by a layer norm with the same initial weights, 0 at a residual's end."""
    layer = LayerNorm2d(unit.bn.num_features, eps=unit.bn.eps)
    layer.weight, layer.bias = unit.bn.weight, unit.bn.bias
    unit.bn = layer


def _forget(attention: Any, args: Any, out: Any) -> None:
    """Drop the biases that timm caches in evaluation: the next call may have other weights."""
    attention.attention_bias_cache = {}

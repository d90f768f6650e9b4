"""Vision transformers of the library timm."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from torch import nn

from fedbench.base import registry
from fedbench.base.checks import BelowOne, Count, Layers, Positive
from fedbench.base.errors import FedbenchError
from fedbench.data.dataset import Inputs
from fedbench.models.architecture import Architecture, BodyHead, read_checkpoint
from fedbench.models.layers import at_side, scaled


@dataclass(frozen=True)
class ViTSmall(Architecture):
    """timm's vit_small_patch16_224 (ASD): [CLS] → bottleneck → classifier.

    21,665,664 parameters in the backbone, 98,560 in the bottleneck, 257·C in the classifier. Images
    are resized to `side` pixels. With `weights` 'pretrained', the published weights, which are for
    three channels, are read from `<data folder>/vit_small_patch16_224/model.safetensors`. With
    'random', they are drawn as Flax does, and sizes may be smaller. Bottleneck and classifier are
    linear layers with nothing between them, and start as in the authors' code: weights normal with
    variance 2 / (inputs + outputs), biases 0.
    """

    EXTRA: ClassVar[str] = "vit"
    SAMPLES_PER_SECOND: ClassVar[float] = 2.6  # trained on one core, as measured
    MEGABYTES: ClassVar[tuple[float, float]] = (7400.0, 87.0)  # see plan/train_jobs.py

    weights: Literal["random", "pretrained"] = "pretrained"
    side: Count = 224
    patch: Count = 16
    layers: Layers = 12
    heads: Count = 6
    dim: Count = 384
    bottleneck: Count = 256

    def build(self, inputs: Inputs) -> nn.Module:
        """Features are the `bottleneck` units."""
        for name, divisor in (("side", "patch"), ("dim", "heads")):
            whole, part = getattr(self, name), getattr(self, divisor)
            if whole % part:
                said = f"ViTSmall: {name} = {whole}"
                raise FedbenchError(f"{said} must be a multiple of {divisor} = {part}")
        first, inputs = at_side("ViTSmall", inputs, self.side)
        registry.require_extra("vit", "ViTSmall")
        from timm.models.vision_transformer import VisionTransformer

        backbone = VisionTransformer(
            img_size=self.side, patch_size=self.patch, in_chans=inputs.shape[0], num_classes=0,
            embed_dim=self.dim, depth=self.layers, num_heads=self.heads,
            weight_init="jax",  # its spread follows the width, so that narrow layers learn too
        )  # fmt: skip
        body = nn.Sequential(first, backbone, _Xavier(self.dim, self.bottleneck))
        return BodyHead(body, _Xavier(self.bottleneck, inputs.outputs))

    def load(self, module: nn.Module, folder: Path) -> None:
        """Read the backbone; the published classifier is left out."""
        if self.weights == "random":
            return
        file = folder / "vit_small_patch16_224" / "model.safetensors"
        backbone = module.get_submodule("body.1")
        weights = read_checkpoint(file, "", backbone.state_dict(), besides=("head.",))
        backbone.load_state_dict(weights)


class _Xavier(nn.Linear):
    """A linear layer that starts with Glorot's normal weights and with biases of 0."""

    def reset_parameters(self) -> None:
        """Draw the weights and set the biases to 0."""
        nn.init.xavier_normal_(self.weight)
        nn.init.zeros_(self.bias)


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

    EXTRA: ClassVar[str] = "vit"
    SAMPLES_PER_SECOND: ClassVar[float] = 2.5  # trained on one core, as measured
    MEGABYTES: ClassVar[tuple[float, float]] = (7400.0, 22.0)  # see plan/train_jobs.py

    norm: Literal["ln", "bn"] = "ln"
    drop_path: BelowOne = 0.2
    width: Positive = 1.0
    depth: Positive = 1.0
    side: Count | None = None

    def build(self, inputs: Inputs) -> nn.Module:
        """Features are the globally averaged and normalised channels of the last stage (576)."""
        registry.require_extra("vit", "TinyViT")
        from timm.layers.norm import LayerNorm2d
        from timm.models.tiny_vit import Attention, ConvNorm, TinyVit

        first, inputs = at_side("TinyViT", inputs, self.side)
        (per_head,) = scaled([32], self.width)
        # The stem divides the side by 4, each later stage by 2, rounding up.
        sides = [-(-min(inputs.shape[1:]) // (4 * 2**stage)) for stage in range(4)]
        whole: Any = TinyVit(
            in_chans=inputs.shape[0], num_classes=inputs.outputs,
            embed_dims=tuple(heads * per_head for heads in _HEADS),
            depths=tuple(scaled(_BLOCKS, self.depth)), num_heads=_HEADS,
            window_sizes=tuple(map(min, _WINDOWS, sides)), drop_path_rate=self.drop_path,
        )  # fmt: skip
        for layer in list(whole.modules()):
            if isinstance(layer, ConvNorm) and self.norm == "ln":
                norm: Any = LayerNorm2d(layer.bn.num_features, eps=layer.bn.eps)
                # with the same initial weights, which are 0 at a residual's end
                norm.weight, norm.bias = layer.bn.weight, layer.bn.bias
                layer.bn = norm
            if isinstance(layer, Attention):
                # timm caches biases in evaluation, where the next call may have other weights
                layer.register_forward_hook(lambda own, *_: own.attention_bias_cache.clear())
        classifier = whole.head.fc
        whole.head.fc = nn.Identity()
        return BodyHead(nn.Sequential(first, whole), classifier)

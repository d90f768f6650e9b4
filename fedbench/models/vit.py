"""The small Vision Transformer, which resizes images of any size."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from timm.models.vision_transformer import VisionTransformer
from torch import nn

from fedbench.base.checks import Count, Layers
from fedbench.base.errors import FedbenchError
from fedbench.data.dataset import Inputs
from fedbench.models.architecture import Architecture, BodyHead
from fedbench.models.images import at_side
from fedbench.models.pretrained import read_checkpoint


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

    SAMPLES_PER_SECOND: ClassVar[float] = 2.6  # trained on one core, as measured
    MEGABYTES: ClassVar[tuple[float, float]] = (7400.0, 87.0)  # see plan/asked.py

    weights: Literal["random", "pretrained"] = "pretrained"
    side: Count = 224
    patch: Count = 16
    layers: Layers = 12
    heads: Count = 6
    dim: Count = 384
    bottleneck: Count = 256

    def build(self, inputs: Inputs) -> nn.Module:
        """Features are the `bottleneck` units."""
        self._check()
        first, inputs = at_side("ViTSmall", inputs, self.side)
        backbone = self._backbone(inputs)
        body = nn.Sequential(first, backbone, _Xavier(self.dim, self.bottleneck))
        return BodyHead(body, _Xavier(self.bottleneck, inputs.classes))

    def load(self, module: nn.Module, folder: Path) -> None:
        """Read the backbone; the published classifier is left out."""
        if self.weights == "random":
            return
        file = folder / "vit_small_patch16_224" / "model.safetensors"
        backbone = module.get_submodule("body.1")
        wanted = {name: tuple(value.shape) for name, value in backbone.state_dict().items()}
        backbone.load_state_dict(read_checkpoint(file, "", wanted, besides=("head.",)))

    def _backbone(self, inputs: Inputs) -> Any:
        return VisionTransformer(
            img_size=self.side,
            patch_size=self.patch,
            in_chans=inputs.shape[0],
            num_classes=0,
            embed_dim=self.dim,
            depth=self.layers,
            num_heads=self.heads,
            weight_init="jax",  # its spread follows the width, so that narrow layers learn too
        )

    def _check(self) -> None:
        for what, divisor in (("side", "patch"), ("dim", "heads")):
            if getattr(self, what) % getattr(self, divisor):
                raise FedbenchError(
                    f"ViTSmall: {what} = {getattr(self, what)} must be a multiple of {divisor} = "
                    f"{getattr(self, divisor)}"
                )


class _Xavier(nn.Linear):
    """A linear layer that starts with Glorot's normal weights and with biases of 0."""

    def reset_parameters(self) -> None:
        """Draw the weights and set the biases to 0."""
        nn.init.xavier_normal_(self.weight)
        nn.init.zeros_(self.bias)

"""What models of images do first: check that samples are images, and resize them if asked."""

from torch import nn

from fedbench.base.errors import FedbenchError
from fedbench.data.dataset import Inputs


def require_images(name: str, inputs: Inputs) -> None:
    """Raise `FedbenchError`, which names a model that fits, if the samples are not images."""
    if len(inputs.shape) != 3:
        other = "'distilbert'" if inputs.vocabulary else "an 'mlp'"
        raise FedbenchError(f"{name}: samples of shape {inputs.shape} are not images; use {other}")


def at_side(
    name: str, inputs: Inputs, side: int | None, least: int = 1
) -> tuple[nn.Module, Inputs]:
    """A layer that resizes images to `side` × `side`, and the shape of what comes out of it.

    Where `side` is None, images stay as they are. Raises `FedbenchError` if the samples are not
    images, or if their side is below `least`, at which the model's layers would leave no pixel.
    """
    require_images(name, inputs)
    channels, *sides = inputs.shape
    shape = (channels, *([side, side] if side else sides))
    if min(shape[1:]) < least:
        raise FedbenchError(
            f"{name}: images of side {min(shape[1:])} are too small for its layers; side = "
            f"{side or 'null'} must be at least {least}"
        )
    if shape == inputs.shape:
        return nn.Identity(), inputs
    return nn.Upsample(shape[1:], mode="bilinear"), inputs._replace(shape=shape)

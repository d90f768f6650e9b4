"""What every model of images does first: check their shape, and enlarge them if asked."""

from torch import nn

from fedbench.base.errors import FedbenchError
from fedbench.data.dataset import Inputs


def require_images(name: str, inputs: Inputs) -> None:
    """Raise `FedbenchError` naming a model that fits if the samples are no images."""
    if len(inputs.shape) != 3:
        other = "'distilbert'" if inputs.vocabulary else "an 'mlp'"
        raise FedbenchError(f"{name}: samples of shape {inputs.shape} are no images; use {other}")


def at_side(
    name: str, inputs: Inputs, side: int | None, least: int = 1
) -> tuple[nn.Module, Inputs]:
    """A layer that resizes images to `side` × `side` (None: as they are), and what comes out of it.

    `least` is the smallest side of which the model's layers leave anything. Raises `FedbenchError`
    if the samples are no images or would be smaller than that.
    """
    require_images(name, inputs)
    channels, *sides = inputs.shape
    shape = (channels, *([side, side] if side else sides))
    if min(shape[1:]) < least:
        raise FedbenchError(
            f"{name}: images of side {min(shape[1:])} vanish; side = {side or 'null'} must be at "
            f"least {least}"
        )
    if shape == inputs.shape:
        return nn.Identity(), inputs
    return nn.Upsample(shape[1:], mode="bilinear"), inputs._replace(shape=shape)

"""Whether a model fits the data, tried on two samples before any training."""

import torch
from torch import Tensor

from fedbench.base.errors import FedbenchError, short
from fedbench.core.flat import Net
from fedbench.data.dataset import Dataset


def refuse_misfit(net: Net, data: Dataset, x: Tensor, name: str) -> None:
    """Raise `FedbenchError` unless the network takes prepared samples x and has the outputs for y.

    A network has one output per class, or without classes one.
    """
    place = f"model: {name}"
    try:
        with torch.no_grad():
            outputs = net.eval(net.start(), x)[0]
    except Exception as error:  # a layer raises whatever it met
        raise FedbenchError(
            f"{place} cannot take the samples of data set '{data.name}', which are "
            f"{data.inputs.words} ({short(error)})"
        ) from None
    width = max(data.classes, 1)
    if outputs.shape != (len(x), width) and (data.classes or outputs.shape != (len(x),)):
        labels = f"{data.classes} classes" if data.classes else "numbers for labels"
        raise FedbenchError(
            f"{place} gives outputs of shape {tuple(outputs.shape)} for {len(x)} samples; data set "
            f"'{data.name}' has {labels}, so it must give {(len(x), width)}"
        )

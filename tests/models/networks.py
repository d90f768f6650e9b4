"""Every model of images at its paper's size and narrowed, for tests."""

import torch

from fedbench.base import registry
from fedbench.data.dataset import Inputs
from fedbench.data.source import data_folder

MNIST, CIFAR10, CIFAR100 = (
    Inputs((1, 28, 28), 10),
    Inputs((3, 32, 32), 10),
    Inputs((3, 32, 32), 100),
)
TINY, IMAGENET100 = Inputs((3, 64, 64), 200), Inputs((3, 224, 224), 100)
DIGITS, PAIRS = Inputs((1, 8, 8), 10), Inputs((1, 16, 16), 100)

# Narrowed for 8×8 digits and for 16×16 pairs of them.
SMALL = {
    "mlp": {"hidden": 16},
    "logistic": {},
    "lenet5": {"width": 0.5, "padding": 2},
    "fedavgcnn": {"width": 0.25},
    "acnn": {"width": 0.25, "side": 16},
    "scnn": {"width": 0.25, "side": 16},
    "scnntiny": {"width": 0.25},
    "rn8": {"width": 0.5},
    "rn18": {"width": 0.125, "blocks": 1, "groups": 2},
    "rn20": {"width": 0.25, "blocks": 1},
    "rn50": {"width": 0.125, "depth": 0.3},
    "tinyvit": {"width": 0.125, "depth": 0.1, "side": 32},
    "vitsmall": {
        **{"weights": "random", "side": 16, "patch": 4},
        **{"layers": 2, "heads": 2, "dim": 32, "bottleneck": 16},
    },
}


def build(name, inputs, **params):
    torch.manual_seed(0)
    architecture = registry.build("model", name, params)
    module = architecture.build(inputs)
    architecture.load(module, data_folder())
    return module


def small(name, inputs=DIGITS, **params):
    return build(name, inputs, **SMALL[name] | params)


def on_paper(name, inputs, **params):
    """Without memory for the weights."""
    with torch.device("meta"):
        return build(name, inputs, **params)


def images(inputs, count=6):
    return torch.rand(count, *inputs.shape, generator=torch.Generator().manual_seed(1))

"""What is trained in a comparison: the data, and the networks in plain PyTorch.

This file is also read in the environments of the peers, which have no fedbench.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

IMAGES = 60_000  # at most; with more clients than they serve, several hold the same images


@dataclass(frozen=True)
class Workload:
    """Federated averaging on random images, one local epoch of SGD per client and round.

    model: its name in fedbench, with parameters, or None where `Plain` is given to it as an object;
    shape: of an image; samples: of each client; cohort: clients per round; test: images in the test
    set.
    """

    model: str | dict[str, dict[str, object]] | None
    shape: tuple[int, int, int] = (3, 32, 32)
    clients: int = 100
    samples: int = 500
    cohort: int = 10
    batch: int = 50
    lr: float = 0.1
    test: int = 10

    def images(self) -> tuple[Tensor, Tensor]:
        """Training images (N, *shape) in uint8 and their labels, client after client."""
        return _random(min(self.clients * self.samples, IMAGES), self.shape, seed=0)

    def test_images(self) -> tuple[Tensor, Tensor]:
        """The images and labels of the test set."""
        return _random(self.test, self.shape, seed=1)

    def rows(self, client: int) -> slice:
        """Where a client's samples lie among the training images."""
        start = client * self.samples % IMAGES
        return slice(start, start + self.samples)


_GREY = (1, 28, 28)
WORKLOADS = {
    "W1": Workload("lenet5"),
    "W2": Workload("scnn"),
    "W3": Workload({"mlp": {"hidden": 200, "depth": 2}}, _GREY, samples=600, batch=10),
    "W4": Workload(None, _GREY, samples=600, batch=10),
    "W5": Workload({"mlp": {"hidden": 128}}, _GREY, samples=600, batch=64),
    "RN8": Workload({"rn8": {"norm": "gn"}}, clients=8, samples=200, cohort=2, lr=0.01),
    "RN18": Workload(
        {"rn18": {"norm": "gn", "stem": "cifar"}}, clients=8, samples=50, cohort=1, lr=0.01
    ),
    "A-CNN": Workload("acnn", clients=8, samples=100, cohort=2, lr=0.01),
}


_CONVOLUTIONS = {"W1": (6, 16), "W2": (64, 64)}
_HIDDEN = {"W1": (120, 84), "W2": (384, 192), "W3": (200, 200), "W4": (), "W5": (128,)}


class Plain(nn.Module):
    """LeNet-5, S-CNN, 2NN, logistic regression or MLP (W1 to W5), as one writes it by hand."""

    def __init__(self, name: str) -> None:
        super().__init__()
        before, layers = WORKLOADS[name].shape[0], list[nn.Module]()
        for channels in _CONVOLUTIONS.get(name, ()):
            # pooling before ReLU gives the same values from a quarter of the work
            layers += [nn.Conv2d(before, channels, 5), nn.MaxPool2d(2), nn.ReLU()]
            before = channels
        layers.append(nn.Flatten())
        width = before * 25 if name in _CONVOLUTIONS else 784
        for hidden in _HIDDEN[name]:
            layers += [nn.Linear(width, hidden), nn.ReLU()]
            width = hidden
        self.layers = nn.Sequential(*layers, nn.Linear(width, 10))

    def forward(self, x: Tensor) -> Tensor:
        """Images (B, *shape) in 0…255 → logits (B, 10)."""
        return self.layers(x.float().div_(255))


def _random(count: int, shape: tuple[int, ...], seed: int) -> tuple[Tensor, Tensor]:
    rng = torch.Generator().manual_seed(seed)
    x = torch.randint(256, (count, *shape), dtype=torch.uint8, generator=rng)
    return x, torch.randint(10, (count,), generator=rng)

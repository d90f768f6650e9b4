"""What is trained in a comparison: the data, and the networks in plain PyTorch.

This file is also read in the environments of the peers, which have no fedbench.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

IMAGES = 50_000  # at most; with more clients than they serve, several hold the same images


@dataclass(frozen=True)
class Workload:
    """Federated averaging on random images, one local epoch of SGD per client and round.

    model: its name in fedbench, with parameters; samples: of each client; cohort: clients per
    round; test: images in the test set.
    """

    model: str | dict[str, dict[str, object]]
    clients: int = 100
    samples: int = 500
    cohort: int = 10
    batch: int = 50
    lr: float = 0.1
    test: int = 10

    def images(self) -> tuple[Tensor, Tensor]:
        """Training images (N, 3, 32, 32) in uint8 and their labels, client after client."""
        return _random(min(self.clients * self.samples, IMAGES), seed=0)

    def test_images(self) -> tuple[Tensor, Tensor]:
        """The images and labels of the test set."""
        return _random(self.test, seed=1)

    def rows(self, client: int) -> slice:
        """Where a client's samples lie among the training images."""
        start = client * self.samples % IMAGES
        return slice(start, start + self.samples)


WORKLOADS = {
    "W1": Workload("lenet5"),
    "W2": Workload("scnn"),
    "RN8": Workload({"rn8": {"norm": "gn"}}, clients=8, samples=200, cohort=2, lr=0.01),
    "RN18": Workload(
        {"rn18": {"norm": "gn", "stem": "cifar"}}, clients=8, samples=50, cohort=1, lr=0.01
    ),
    "A-CNN": Workload("acnn", clients=8, samples=100, cohort=2, lr=0.01),
}


class Plain(nn.Module):
    """LeNet-5 (W1) or S-CNN (W2) for uint8 images, as one writes it without fedbench."""

    def __init__(self, name: str) -> None:
        super().__init__()
        channels, hidden = {"W1": ((6, 16), (120, 84)), "W2": ((64, 64), (384, 192))}[name]
        self.layers = nn.Sequential(
            nn.Conv2d(3, channels[0], 5),
            nn.MaxPool2d(2),  # before ReLU: the same values from a quarter of the work
            nn.ReLU(),
            nn.Conv2d(channels[0], channels[1], 5),
            nn.MaxPool2d(2),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(channels[1] * 25, hidden[0]),
            nn.ReLU(),
            nn.Linear(hidden[0], hidden[1]),
            nn.ReLU(),
            nn.Linear(hidden[1], 10),
        )

    def forward(self, x: Tensor) -> Tensor:
        """(B, 3, 32, 32) in 0…255 → logits (B, 10)."""
        return self.layers(x.float().div_(255))


def _random(count: int, seed: int) -> tuple[Tensor, Tensor]:
    rng = torch.Generator().manual_seed(seed)
    x = torch.randint(256, (count, 3, 32, 32), dtype=torch.uint8, generator=rng)
    return x, torch.randint(10, (count,), generator=rng)

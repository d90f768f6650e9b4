"""What a program may import from fedbench, with types: mypy checks this file, no test runs it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import Tensor, nn

from fedbench import (
    Batch,
    Choice,
    Cost,
    Dataset,
    FedbenchError,
    Federation,
    Gradient,
    Machine,
    Part,
    Partition,
    Probe,
    Result,
    Round,
    RunSpec,
    Scene,
    Sizes,
    Source,
    State,
    Turn,
    __version__,
    published,
    run,
)


@dataclass(frozen=True)
class Own(Part):
    """A method: every hook that it overrides has the types of `Part`."""

    mu: float = 0.1

    def server(self, w: Tensor, fed: Federation) -> State:
        """A momentum of zeros (d,)."""
        return {"m": w.new_zeros(fed.d)}

    def loss(self, value: Tensor, b: Batch, t: Turn) -> Tensor:
        """The loss (a scalar) as it is."""
        return value

    def grad(self, inner: Gradient, w: Tensor, t: Turn) -> Tensor:
        """The gradient (d,) with a pull towards the global model."""
        return inner(w) + self.mu * (w - t.w)

    def step(self, d: Tensor, r: Round) -> Tensor:
        """The global update (d,), remembered."""
        r.state["m"] = d
        return d

    def cost(self, size: Sizes) -> Cost:
        """One vector that the server keeps."""
        return Cost(server_memory=size.d)


@dataclass(frozen=True)
class Norm(Probe):
    """A probe with one column."""

    def row(self, s: Scene) -> dict[str, float]:
        """The norm of the global model."""
        return {"norm": float(s.new.w.norm())}


@dataclass(frozen=True)
class Ones(Source):
    """A data set of ones."""

    def load(self, folder: Path) -> Dataset:
        """Four samples of one feature."""
        x, y = np.ones((4, 1)), np.zeros(4, dtype=np.int64)
        return Dataset("ones", x, y, x, y, classes=2)


@dataclass(frozen=True)
class ByUser(Partition):
    """A partition that asks for rows."""

    by_labels = False
    overlap = True

    def split(
        self, labels: NDArray[Any], clients: int, rng: np.random.Generator, rows: NDArray[np.int64]
    ) -> list[NDArray[np.int64]]:
        """Row i to client i % K."""
        return [np.flatnonzero(rows % clients == client) for client in range(clients)]


def by_name(spec: RunSpec) -> tuple[Part, ...]:
    """`Choice.build` returns what its kind says."""
    source: Source = spec.dataset.build("dataset")
    source.load(Path())
    proximal: Part = Choice(name="fedprox", params={"mu": 0.1}).build("method")
    return (proximal, *(part.build("method") for part in spec.parts))


def trained(spec: RunSpec) -> Result:
    """A run of objects in place of names."""
    try:
        return run(
            spec, model=nn.Linear(1, 2), parts=(Own(),), probes=(Norm(),), machine=Machine("cpu")
        )
    except FedbenchError as error:
        raise SystemExit(f"fedbench {__version__}: {error}") from None


def scores(paper: str) -> "pd.Series[float]":
    """What has been published."""
    runs = published("runs")
    return runs[runs["paper"] == paper]["accuracy_final"]

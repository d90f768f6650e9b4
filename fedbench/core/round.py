"""What a method's hooks are given: the federation, a client's turn, a batch, a round at the server.

Weights, gradients and updates are flat vectors (d,).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from fedbench.base.errors import FedbenchError
from fedbench.core.flat import Buffers, Model, Net
from fedbench.core.spill import Spill

State = dict[str, Tensor]
Gradient = Callable[[Tensor], Tensor]
# Outputs by the identities of a model's tensors; the model is kept, or its identity would be reused
Seen = dict[tuple[int, ...], tuple[Model, tuple[Tensor, Tensor]]]


@dataclass(frozen=True)
class Fed:
    """The federation's constants: K clients, their sizes n (K,), label counts (K, C), cohort m."""

    K: int
    m: int
    classes: int
    d: int
    n: Tensor
    labels: Tensor
    lr: float
    rounds: int
    net: Net
    start: Model
    spill: Spill

    def table(self) -> Tensor:
        """Zeros (K, d): one vector a client, on disk if it is large."""
        return self.spill.table(self.K, self.start.w)


def _only_in_ask(w: Tensor) -> Tensor:
    raise FedbenchError("full_gradient: it is there in `ask` alone; keep what it gives in `t.run`")


@dataclass
class Turn:
    """One client's turn in one round, as one part sees it.

    w, buffers: the global model; lr: this round's rate; k: local steps already made; H: steps this
    client makes (k = H in `end`); weight_decay: of the local optimiser, (d,) where it spares
    weights; n: its samples; labels: its label counts (C,). `msg` came from the server, `mine` is
    kept between rounds, `up` goes to the server, `run` lasts for this turn, `drawn` holds my random
    numbers. In `end`, y is the model y_i that was trained, with its own norm buffers.
    """

    fed: Fed
    w: Tensor
    buffers: Buffers
    lr: float
    H: Tensor | int
    n: Tensor
    labels: Tensor
    weight_decay: float | Tensor
    round: int
    k: Tensor | int = 0
    msg: State = field(default_factory=dict)
    mine: State = field(default_factory=dict)
    up: State = field(default_factory=dict)
    run: State = field(default_factory=dict)
    drawn: State = field(default_factory=dict)
    full_gradient: Gradient = _only_in_ask
    y: Model = field(default_factory=lambda: Model(torch.empty(0), {}))

    @property
    def model(self) -> Model:
        """The global model of this round."""
        return Model(self.w, self.buffers)


@dataclass
class Batch:
    """One mini-batch: x, y (B,), the student's logits (B, C) and features; padded rows masked."""

    x: Tensor
    y: Tensor
    logits: Tensor
    features: Tensor
    w: Tensor  # the student's live weights
    net: Net
    world: Model  # the global model
    mask: Tensor | None = None
    seen: Seen = field(default_factory=dict)

    def mean(self, values: Tensor) -> Tensor:
        """Mean over the batch's real samples of one value a sample (B,)."""
        if self.mask is None:
            return values.mean()
        return (values * self.mask).sum() / self.mask.sum().clamp(min=1)

    def of(self, model: Model) -> tuple[Tensor, Tensor]:
        """(logits, features) of any model in eval mode, computed at most once for all parts."""
        key = tuple(id(value) for value in (model.w, *model.buffers.values()))
        if key not in self.seen:
            with torch.no_grad():
                self.seen[key] = model, self.net.eval(model, self.x)
        return self.seen[key][1]

    @property
    def ref(self) -> tuple[Tensor, Tensor]:
        """(logits, features) of the global model."""
        return self.of(self.world)

    def head(self, features: Tensor) -> Tensor:
        """Logits that the student's live classifier gives to `features`."""
        return self.net.head(self.w, features)


@dataclass
class Round:
    """One round at the server, as one part sees it.

    w: x_t; lr: η_t; clients: the cohort S_t in ascending order; counts: n_i (m,); steps: H_i (m,).
    After local training: models y_i (m, d), raw: D_i = x_t − y_i (m, d), ups: each client's `up` of
    this part, statistics: each y_i's norm buffers. In `receive`, i is the client's place in the
    cohort; in `evaluate`, new is x_{t+1}.
    p: mixing weights (m,); `mine`: this part's state; `rng`: this part's generator of the round;
    `validate`: a model's loss on held-out data; `proxy`: held-out inputs (N, …) without labels.
    """

    fed: Fed
    t: int
    lr: float
    w: Tensor
    buffers: Buffers
    clients: Sequence[int]
    counts: Tensor
    p: Tensor
    validate: Callable[[Model], float]
    proxy: Callable[[], Tensor]
    rng: torch.Generator = field(default_factory=torch.Generator)
    mine: State = field(default_factory=dict)
    steps: Tensor = field(default_factory=lambda: torch.empty(0))
    models: Tensor = field(default_factory=lambda: torch.empty(0))
    raw: Tensor = field(default_factory=lambda: torch.empty(0))
    ups: Sequence[State] = ()
    statistics: Sequence[Buffers] = ()
    i: int = 0
    new: Tensor = field(default_factory=lambda: torch.empty(0))

    def mean(self, name: str) -> Tensor:
        """Σ p_i up_i[name], added in the order of client numbers."""
        return weighted_mean([up[name] for up in self.ups], self.p)


def weighted_mean(values: Sequence[Tensor] | Tensor, p: Tensor) -> Tensor:
    """Σ p_i v_i, added one by one so that the result has the same bits on every machine layout."""
    total = p[0] * values[0]
    for share, value in zip(p[1:], values[1:], strict=True):
        total = total + share * value
    return total


def pack(model: Model, name: str) -> State:
    """A model as entries of a message or of a kept state."""
    return {name: model.w, **{f"{name}/{key}": value for key, value in model.buffers.items()}}


def unpack(state: State, name: str) -> Model:
    """The inverse of `pack`."""
    prefix = f"{name}/"
    buffers = {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
    return Model(state[name], buffers)

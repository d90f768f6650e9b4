"""The one abstraction: a method is a tuple of parts, a part is one idea with optional hooks.

Every hook is value in, value out, and its default is the identity, so FedAvg is the empty tuple
and a method lists only what it changes. Weights, gradients and updates are flat vectors (d,).
The loop belongs to the engine: no hook loops over clients, layers or epochs.

Signs and units (specification section 0): a delta is *old minus new*, in model units; divide by
`lr` for gradient units. A step is in gradient units: the engine subtracts lr times it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from fedbench.checked import Checked
from fedbench.errors import FedbenchError
from fedbench.flat import Buffers, Model, Net
from fedbench.spill import Spill

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


@dataclass(frozen=True)
class Sizes:
    """What a cost depends on: model size d, classes C, clients K, cohort m, local epochs E.

    features: the width of what the classifier sees.
    """

    d: int
    classes: int
    K: int
    m: int
    epochs: float
    features: int = 0


@dataclass(frozen=True)
class Cost:
    """What a part adds to FedAvg, a client and round: floats sent, passes a sample, floats kept.

    ops_*: operations on vectors of model size beyond FedAvg's (copy x_t; one gradient and one
    update a step; one difference; one addition a client at the server), as FedDPC's Table 1 counts
    them: to begin and end local training, each step, each client at the server, once a round at the
    server, and to maintain previous state there. teachers: those forward passes that would be made
    once a round instead of once an epoch if their outputs were kept (without augmentation).
    """

    down: float = 0.0
    up: float = 0.0
    forward: float = 0.0
    teachers: float = 0.0
    backward: float = 0.0
    client_memory: float = 0.0
    server_memory: float = 0.0
    ops_begin: float = 0.0
    ops_step: float = 0.0
    ops_end: float = 0.0
    ops_receive: float = 0.0
    ops_server: float = 0.0
    ops_maintain: float = 0.0


# What one part of a method decides alone
GLOBAL_MOMENTUM = "what earlier global updates do to the next one"
LOCAL_MOMENTUM = "which momentum of earlier rounds enters the local steps"
STEP_LENGTH = "how long the global step is"


class Part(Checked):
    """Base of every part; a subclass is a frozen dataclass that overrides one to five hooks."""

    excludes: ClassVar[dict[str, str]] = {}  # parts it cannot stand beside, and why
    follows: ClassVar[dict[str, str]] = {}  # parts it can only stand after, and why
    decides: ClassVar[tuple[str, ...]] = ()  # what no other part may decide too
    shares: ClassVar[str] = ""  # what leaves the clients beside models and vectors of their size
    proxy_data: ClassVar[bool] = False  # whether the server needs data of its own
    needs_head: ClassVar[bool] = False  # whether it looks at features or at the classifier
    own_momentum: ClassVar[bool] = False  # whether it keeps the momentum buffer itself
    needs_projection: ClassVar[bool] = False  # whether the model must have a projection head
    MODELS: ClassVar[tuple[str, ...]] = ()  # that `evaluate` names, beside 'next'; a literal

    @property
    def unmappable(self) -> str:
        """Why a map over clients cannot run me; empty if it can."""
        return ""

    def server(self, w: Tensor, fed: Fed) -> State:
        """My state on the server, before round 0."""
        return {}

    def client(self, w: Tensor, fed: Fed) -> State:
        """My state on a client, before its first turn; `w` is x_0."""
        return {}

    def ask(self, w: Tensor, t: Turn) -> State:
        """What a client sends in an extra exchange before training."""
        return {}

    def answer(self, asks: Sequence[State], p: Tensor, r: Round) -> State:
        """What the server answers to all; arrives in `t.msg`."""
        return {}

    def send(self, r: Round) -> State:
        """My message to the cohort at the start of a round."""
        return {}

    def draw(self, rng: torch.Generator, t: Turn) -> State:
        """My random numbers for one turn, drawn outside the mapped code."""
        return {}

    def begin(self, w: Tensor, t: Turn) -> Tensor:
        """The weights to start from."""
        return w

    def logits(self, z: Tensor, b: Batch, t: Turn) -> Tensor:
        """The student's logits (B, C) while training."""
        return z

    def loss(self, value: Tensor, b: Batch, t: Turn) -> Tensor:
        """The loss of a batch (scalar)."""
        return value

    def grad(self, inner: Gradient, w: Tensor, t: Turn) -> Tensor:
        """A gradient at w; `inner` may be called anywhere, any number of times."""
        return inner(w)

    def decay(self, g: Tensor, w: Tensor, t: Turn) -> Tensor:
        """The gradient after the clip, where weight decay joins it, before the momentum buffer."""
        return g

    def move(self, step: Tensor, w: Tensor, t: Turn) -> Tensor:
        """The step taken, after clip, weight decay and the optimiser's momentum."""
        return step

    def after(self, b: Batch, t: Turn) -> None:
        """See a batch, detached; may write `t.up`, `t.run` and `t.mine`."""

    def end(self, delta: Tensor, t: Turn) -> Tensor:
        """What is uploaded when local training ends."""
        return delta

    def weigh(self, p: Tensor, r: Round) -> Tensor:
        """Mixing weights (m,) that sum to 1."""
        return p

    def receive(self, delta: Tensor, r: Round) -> Tensor:
        """One client's update, corrected at the server."""
        return delta

    def step(self, d: Tensor, r: Round) -> Tensor:
        """The global update, in model units; the engine subtracts it."""
        return d

    def evaluate(self, w: Tensor, r: Round) -> dict[str, Tensor]:
        """Named weights to score beside or instead of `w`; the first is the headline."""
        return {}

    def cost(self, size: Sizes) -> Cost:
        """What I add to FedAvg's cost."""
        return Cost()


def overriding(parts: Sequence[Part], hook: str) -> list[int]:
    """Places of the parts that override `hook`."""
    return [i for i, p in enumerate(parts) if getattr(type(p), hook) is not getattr(Part, hook)]


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

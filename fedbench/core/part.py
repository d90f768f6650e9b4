"""The one abstraction: a method is a tuple of parts, a part is one idea with optional hooks.

Every hook is value in, value out, and its default is the identity, so FedAvg is the empty tuple
and a method lists only what it changes. Weights, gradients and updates are flat vectors (d,).
The loop belongs to the engine: no hook loops over clients, layers or epochs.

Signs and units (specification section 0): a delta is *old minus new*, in model units; divide by
`lr` for gradient units. A step is in gradient units: the engine subtracts lr times it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fedbench.base.checked import Checked
from fedbench.base.errors import FedbenchError
from fedbench.core.round import Batch, Fed, Gradient, Round, State, Turn


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
    own_momentum: ClassVar[bool] = False  # whether it has a momentum buffer in place of the run's
    uploaded_momentum: ClassVar[str] = ""  # the entry of `t.up` that is a client's momentum
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


def refuse_conflicts(parts: Sequence[Part]) -> None:
    """Raise `FedbenchError` with the reason if a part stands twice, or where it cannot."""
    names = [type(part).__name__.lower() for part in parts]
    for i, part in enumerate(parts):
        if names[i] in names[:i]:
            raise FedbenchError(f"parts: '{names[i]}' is listed twice")
        for other, reason in part.excludes.items():
            if other in names:
                raise FedbenchError(f"parts: '{names[i]}' cannot stand beside '{other}': {reason}")
        for other, reason in part.follows.items():
            if other in names[i:]:
                raise FedbenchError(f"parts: '{names[i]}' must stand after '{other}': {reason}")
    _refuse_rivals(parts, names)


def _refuse_rivals(parts: Sequence[Part], names: Sequence[str]) -> None:
    """Raise if two parts decide the same thing."""
    deciders: dict[str, str] = {}
    for part, name in zip(parts, names, strict=True):
        for what in part.decides:
            if what in deciders:
                other = deciders[what]
                raise FedbenchError(
                    f"parts: '{name}' cannot stand beside '{other}': both decide {what}"
                )
            deciders[what] = name

"""The one abstraction: a method is a tuple of parts, a part is one idea with optional hooks.

Every hook takes a value and returns a value, and changes nothing unless it is overridden: FedAvg is
the empty tuple, and a method lists only what it changes. Weights, gradients and updates are flat
vectors (d,). The loop belongs to the engine:
no hook loops over clients, layers or epochs.

Signs and units (specification section 0): a delta is *old minus new*, in model units; divide by
`lr` for gradient units. A step is in gradient units: the engine subtracts lr times it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fedbench.base import registry
from fedbench.base.checked import Checked
from fedbench.base.errors import FedbenchError, unknown
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
    """What a part adds to FedAvg's cost, per client and round.

    down, up: numbers sent to and by a client; forward, backward: passes per sample; client_memory,
    server_memory: numbers stored. teachers: those of the forward passes that would be needed once
    per round instead of once per epoch if their outputs were stored (without augmentation).

    ops_*: operations on vectors of model size beyond FedAvg's (copy x_t; one gradient and one
    update per step; one difference; one addition per client at the server), as FedDPC's Table 1
    counts them: to begin and to end local training, per step, per client at the server, once per
    round at the server, and to maintain previous state there.
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


# What at most one part of a method may decide
SERVER_OPTIMISER = "which optimiser the server uses"
GLOBAL_MOMENTUM = "what earlier global updates do to the next one"
LOCAL_MOMENTUM = "which momentum of earlier rounds enters the local steps"
STEP_LENGTH = "how long the global step is"
DECISIONS = (SERVER_OPTIMISER, GLOBAL_MOMENTUM, LOCAL_MOMENTUM, STEP_LENGTH)


class Part(Checked):
    """Base of every part; a subclass is a frozen dataclass that overrides the hooks it needs.

    "My" in a hook's description means: of this part.
    """

    excludes: ClassVar[dict[str, str]] = {}  # parts it cannot be combined with, and why
    follows: ClassVar[dict[str, str]] = {}  # parts that must be listed before it, and why
    decides: ClassVar[tuple[str, ...]] = ()  # what no other part of the method may decide as well
    shares: ClassVar[str] = ""  # what clients upload beside models and vectors of the same size
    proxy_data: ClassVar[bool] = False  # whether the server needs held-out data
    needs_head: ClassVar[bool] = False  # whether it uses the features or the classifier
    own_momentum: ClassVar[bool] = False  # whether it has a momentum buffer in place of the run's
    uploaded_momentum: ClassVar[str] = ""  # the entry of `t.up` that is a client's momentum
    needs_projection: ClassVar[bool] = False  # whether the model must have a projection head
    MODELS: ClassVar[tuple[str, ...]] = ()  # what `evaluate` names beside 'next'; a literal

    @property
    def unmappable(self) -> str:
        """Why this part cannot be mapped over clients; empty if it can."""
        return ""

    def server(self, w: Tensor, fed: Fed) -> State:
        """My state on the server before round 0."""
        return {}

    def client(self, w: Tensor, fed: Fed) -> State:
        """My state on a client before its first turn; `w` is x_0."""
        return {}

    def ask(self, w: Tensor, t: Turn) -> State:
        """What a client sends in an extra exchange before training."""
        return {}

    def answer(self, asks: Sequence[State], p: Tensor, r: Round) -> State:
        """What the server answers to all clients; it is added to `t.msg`."""
        return {}

    def send(self, r: Round) -> State:
        """My message to the cohort at the start of a round; clients read it in `t.msg`."""
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
        """What this part adds to FedAvg's cost."""
        return Cost()


def overriding(parts: Sequence[Part], hook: str) -> list[int]:
    """Positions of the parts that override `hook`."""
    return [i for i, p in enumerate(parts) if getattr(type(p), hook) is not getattr(Part, hook)]


def refuse_conflicts(parts: Sequence[Part]) -> None:
    """Raise `FedbenchError` with the reason if these parts cannot be combined in this order.

    A part that is listed twice is refused, and one that excludes, follows or decides what no method
    does: a slip of the keyboard would otherwise never exclude anything.
    """
    names = [type(part).__name__.lower() for part in parts]
    for i, part in enumerate(parts):
        _refuse_slips(part, names[i])
        if names[i] in names[:i]:
            raise FedbenchError(f"parts: '{names[i]}' is listed twice")
        for other, reason in part.excludes.items():
            if other in names:
                raise FedbenchError(f"parts: '{names[i]}' cannot stand beside '{other}': {reason}")
        for other, reason in part.follows.items():
            if other in names[i:]:
                raise FedbenchError(f"parts: '{names[i]}' must stand after '{other}': {reason}")
    _refuse_rivals(parts, names)


def _refuse_slips(part: Part, name: str) -> None:
    """Raise if a part names a method or a decision that no other part has."""
    others = _subclasses(Part) - {type(part)}
    methods = {*registry.entries("method"), *(other.__name__.lower() for other in others)}
    for field in ("excludes", "follows"):
        for other in getattr(part, field):
            if other not in methods:
                raise FedbenchError(f"parts: '{name}'.{field}: {unknown('method', other, methods)}")
    if set(part.decides) <= {*DECISIONS}:
        return
    decisions = {*DECISIONS, *(what for other in others for what in other.decides)}
    for what in part.decides:
        if what not in decisions:
            raise FedbenchError(f"parts: '{name}'.decides: {unknown('decision', what, decisions)}")


def _subclasses(cls: type[Part]) -> set[type[Part]]:
    """All parts that have been defined, in the package or by the user."""
    below = set(cls.__subclasses__())
    return below.union(*(_subclasses(each) for each in below))


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

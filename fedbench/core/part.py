"""The base class of parts: a method is a tuple of parts, a part is one idea with its hooks.

A hook takes a value and returns it unless it is overridden; FedAvg is the empty tuple. Signs and
units are those of conventions 1 and 2.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from fedbench.base.checks import Checked
from fedbench.base.errors import FedbenchError, shown
from fedbench.core.flat_network import Buffers, Model
from fedbench.core.round_data import Batch, Federation, Gradient, Round, State, Turn, pack


@dataclass(frozen=True)
class Sizes:
    """What a cost depends on.

    d: weights of the model; classes: C; K: clients; m: size of the cohort; epochs: local epochs E;
    features: width of the features that the classifier gets.
    """

    d: int
    classes: int
    K: int
    m: int
    epochs: float
    features: int


# A federation like those of the papers, for costs that are told of no paper: ResNet-8, 10 of 100
# clients per round.
USUAL = Sizes(d=100_000, classes=10, K=100, m=10, epochs=1, features=64)
# A model so large that what does not grow with it is lost in the rounding of a float.
LARGE = replace(USUAL, d=10**18)


@dataclass(frozen=True)
class Cost:
    """What a part adds to FedAvg's cost, per client and round.

    down, up: numbers sent to a client and by a client; forward, backward: passes per sample;
    client_memory, server_memory: numbers stored. teachers: how many of the forward passes are
    through teachers, whose outputs could be stored: then they would be needed once per round
    instead of once per epoch, if samples are not augmented.

    ops_*: operations on vectors of model size beyond FedAvg's, as the FedDPC paper's Table 1 counts
    them. FedAvg's are: copy x_t; one gradient and one update per step; one difference; one addition
    per client at the server. ops_begin and ops_end: before and after a client's local steps;
    ops_step: per local step; ops_receive: per client at the server; ops_server: once per round at
    the server; ops_maintain: to update what the server stores from round to round.
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


# Decisions that at most one part of a method may make
SERVER_OPTIMISER = "which optimiser the server uses"
GLOBAL_MOMENTUM = "what earlier global updates do to the next one"
LOCAL_MOMENTUM = "which momentum of earlier rounds enters the local steps"
STEP_LENGTH = "how long the global step is"
DECISIONS = (SERVER_OPTIMISER, GLOBAL_MOMENTUM, LOCAL_MOMENTUM, STEP_LENGTH)

# `follows` of parts whose global update is no plain mean
AFTER_FEDEXP = {"fedexp": "FedExP compares the plain mean of the updates with their lengths"}


class Part(Checked):
    """Base class of all parts; a subclass is a frozen dataclass that overrides some hooks."""

    alone: ClassVar[str] = ""  # why it can be combined with no other part; '' if it can
    excludes: ClassVar[dict[str, str]] = {}  # parts that it cannot be combined with, and why
    follows: ClassVar[dict[str, str]] = {}  # parts that must be listed before it, and why
    precedes: ClassVar[dict[str, str]] = {}  # parts that must be listed after it, and why
    keeps: ClassVar[str] = ""  # a vector of the server's in `r.state`, which begins at 0
    client_keeps: ClassVar[tuple[str, ...]] = ()  # vectors in `t.state` that begin at 0
    sends: ClassVar[bool] = False  # whether the cohort gets all that the server keeps for it
    decides: ClassVar[tuple[str, ...]] = ()  # decisions that no other part of the method may make
    shares: ClassVar[str] = ""  # what clients upload beside vectors of the model's size
    proxy_data: ClassVar[bool] = False  # whether the server needs held-out data
    computes_at_server: ClassVar[bool] = False  # on samples, which no count of passes includes
    needs_head: ClassVar[bool] = False  # whether it uses the features or the classifier alone
    own_momentum: ClassVar[bool] = False  # whether it has a momentum in place of the optimiser's
    repeats: ClassVar[dict[str, str]] = {}  # parameters that, if given, must equal the optimiser's
    uploaded_momentum: ClassVar[str] = ""  # the key in `t.upload` of a client's momentum
    starts_elsewhere: ClassVar[bool] = False  # whether `begin` gives others than the weights x_t
    needs_projection: ClassVar[bool] = False  # whether the model must have a projection head
    OWN: ClassVar[str] = ""  # the name under which `t.state` holds (`pack`) a client's own model
    MODELS: ClassVar[tuple[str, ...]] = ()  # names that `evaluate` gives; a literal
    SETTINGS: ClassVar[dict[str, Any]] = {}  # of a run with it, whatever else is given; a literal

    @property
    def sequential(self) -> str:
        """Why clients with this part must be trained one after the other; '' if they need not."""
        return ""

    @property
    def needs_classes(self) -> bool:
        """Whether its formulas are of classes, so that data with numbers for labels are refused."""
        return False

    @property
    def needs_sgd(self) -> str:
        """What it does with updates that holds for steps of SGD alone, momentum or not; else ''.

        A part that reads `effective_steps` says it here: with Adam, and beside a part that changes
        the optimiser's steps or `starts_elsewhere`, it is then refused before any training.
        """
        return ""

    def server(self, w: Tensor, fed: Federation) -> State:
        """The part's state on the server before round 0."""
        return {self.keeps: torch.zeros_like(w)} if self.keeps else {}

    def client(self, w: Tensor, fed: Federation) -> State:
        """The part's state on a client before the client's first turn; `w` is x_0."""
        if self.OWN:
            return pack(Model(w, fed.start.buffers), self.OWN)
        return {name: torch.zeros_like(w) for name in self.client_keeps}

    def ask(self, w: Tensor, t: Turn) -> State:
        """What a client sends to the server in an extra exchange before local training."""
        return {}

    def answer(self, asks: Sequence[State], p: Tensor, r: Round) -> State:
        """The server's answer to what all clients sent in `ask`; it is added to `t.msg`."""
        return {}

    def send(self, r: Round) -> State:
        """The part's message to the cohort as a round starts; clients read it in `t.msg`."""
        return dict(r.state) if self.sends else {}

    def draw(self, rng: torch.Generator, t: Turn) -> State:
        """The part's random numbers for one turn, which other hooks read in `t.drawn`."""
        return {}

    def begin(self, w: Tensor, t: Turn) -> Tensor:
        """The weights from which local training starts."""
        return w

    def begin_buffers(self, buffers: Buffers, t: Turn) -> Buffers:
        """The buffers of normalisation layers with which local training starts."""
        return buffers

    def logits(self, z: Tensor, b: Batch, t: Turn) -> Tensor:
        """The logits (B, C) of the model in training, the student."""
        return z

    def loss(self, value: Tensor, b: Batch, t: Turn) -> Tensor:
        """The loss of a mini-batch (scalar)."""
        return value

    def grad(self, inner: Gradient, w: Tensor, t: Turn) -> Tensor:
        """The gradient at w; `inner` gives it at any weights and may be called repeatedly."""
        return inner(w)

    def decay(self, g: Tensor, w: Tensor, t: Turn) -> Tensor:
        """The gradient after clipping, to which weight decay is added before momentum."""
        return g

    def move(self, step: Tensor, w: Tensor, t: Turn) -> Tensor:
        """The local step, after clipping, weight decay and the optimiser's momentum."""
        return step

    def after(self, b: Batch, t: Turn) -> None:
        """Read the batch of the step just made, detached; may write the turn's states."""

    def end(self, delta: Tensor, t: Turn) -> Tensor:
        """The update that the client uploads when local training ends."""
        return delta

    def weigh(self, p: Tensor, r: Round) -> Tensor:
        """The mixing weights (m,), which sum to 1."""
        return p

    def receive(self, delta: Tensor, r: Round) -> Tensor:
        """One client's update as the server uses it."""
        return delta

    def step(self, d: Tensor, r: Round) -> Tensor:
        """The global update, in model units; the engine subtracts it from x_t."""
        return d

    def evaluate(self, w: Tensor, r: Round) -> dict[str, Tensor]:
        """Weights to score, by name; those that come first give the run's accuracy.

        The new global model `w` is scored in any case, under the name 'next'.
        """
        return {}

    def cost(self, size: Sizes) -> Cost:
        """What this part adds to FedAvg's cost."""
        return Cost()


def overriding(parts: Sequence[Part], hook: str) -> list[int]:
    """Positions of the parts that override `hook`."""
    return [i for i, p in enumerate(parts) if getattr(type(p), hook) is not getattr(Part, hook)]


def returned(part: Part, hook: str, *given: Any) -> State:
    """The dict of tensors that a hook returns; raises `FedbenchError` if it returns another."""
    state = getattr(part, hook)(*given)
    if not isinstance(state, dict):
        told = f"{type(part).__name__}.{hook} returned {shown(state)}"
        raise FedbenchError(f"{told}; it must return a dict of tensors by name")
    require_tensors(part, state)
    return state


@contextmanager
def unwritten(parts: Sequence[Part], what: str, tensors: Iterable[Tensor]) -> Iterator[None]:
    """Raise `FedbenchError` if hooks change these tensors, which others read too, in place."""
    before = [(each, each._version) for each in tensors]
    yield
    if any(each._version != version for each, version in before):
        names = " or ".join(type(part).__name__ for part in parts)
        raise FedbenchError(
            f"a hook of {names} changes {what} in place, which others read too; write w = 2 * w in "
            "place of w *= 2"
        )


def require_tensors(part: object, *states: State) -> None:
    """Raise `FedbenchError` if states of a part or probe hold other things than tensors."""
    for name, value in (item for state in states for item in state.items()):
        if not isinstance(value, Tensor):
            raise FedbenchError(
                f"{type(part).__name__} stores or sends {shown(value)} as '{name}'; it must be a "
                "tensor, such as torch.tensor(1.0)"
            )

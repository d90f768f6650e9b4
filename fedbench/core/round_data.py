"""What hooks are given: the federation, one client's turn, a mini-batch, a round at the server."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from fedbench.base.errors import FedbenchError
from fedbench.core.flat_network import Buffers, Model, Net
from fedbench.core.local_optimisers import SGD, Optimiser
from fedbench.core.tensors_on_disk import Spill

State = dict[str, Tensor]
Gradient = Callable[[Tensor], Tensor]
Loss = Callable[[Tensor, Tensor], Tensor]  # (logits (B, C), labels (B,)) -> one per sample (B,)
# A model's outputs by the `id`s of its tensors. The model is stored beside them: if it were freed,
# another tensor could get the same `id`.
Seen = dict[tuple[int, ...], tuple[Model, tuple[Tensor, Tensor]]]


class OneLine:
    """Shows itself in one line; `_later` says when a field that is read too early has a value."""

    _later: ClassVar[dict[str, str]] = {}

    if not TYPE_CHECKING:  # otherwise mypy would accept any name

        def __getattr__(self, name: str) -> Any:
            cls = type(self)
            if name not in cls._later:
                raise AttributeError(f"'{cls.__name__}' has no field '{name}'")
            when = f"it can be read {cls._later[name]}"
            raise FedbenchError(f"{cls.__name__}.{name} has no value yet: {when}")

    def __repr__(self) -> str:
        shown = ((name, _text(value)) for name, value in vars(self).items())
        return f"{type(self).__name__}({', '.join(f'{n}={text}' for n, text in shown if text)})"


def _text(value: Any) -> str:
    """A value in a few characters; '' for what is left out."""
    if isinstance(value, Tensor):
        return str(tuple(value.shape))
    if isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        inner = ((name, _text(each)) for name, each in value.items())
        return ", ".join(f"{name}: {text}" for name, text in inner if text).join(("{", "}"))
    return ""


@dataclass(frozen=True, repr=False)
class Federation(OneLine):
    """What stays the same in all rounds of a run."""

    K: int
    """The number of clients."""
    m: int
    """The size of the cohort."""
    classes: int
    """C, 0 if labels are numbers."""
    d: int
    """The number of weights of the model."""
    n: Tensor
    """Samples per client (K,)."""
    labels: Tensor
    """Label counts per client (K, C)."""
    lr: float
    """The first learning rate η_0."""
    rounds: int
    """T."""
    net: Net
    """The network."""
    start: Model
    """x_0 with its buffers."""
    spill: Spill
    """Makes tables that may lie on disk."""
    optimiser: Optimiser = field(default_factory=SGD)
    """That of the local steps."""

    def table(self) -> Tensor:
        """Zeros (K, d): one vector per client, on disk if the table does not fit in memory."""
        return self.spill.table(self.K, self.start.w)


def only_in_ask(w: Tensor) -> Tensor:
    """What `full_gradient` is in all hooks but `ask`: raises `FedbenchError`."""
    raise FedbenchError(
        "t.full_gradient can be called in the hook `ask` only; store what it returns in `t.scratch`"
    )


@dataclass(kw_only=True, repr=False)
class Turn(OneLine):
    """One client's turn in one round, as one part sees it; the states are the part's own."""

    _later: ClassVar = {"y": "in the hook `end`"}

    fed: Federation
    """What stays the same in all rounds."""
    w: Tensor
    """The weights of the global model x_t (d,)."""
    buffers: Buffers
    """The buffers of its norm layers."""
    lr: float
    """This round's learning rate η_t."""
    H: int
    """The local steps that this client makes in the round."""
    n: Tensor
    """The client's number of samples, a scalar."""
    labels: Tensor
    """Its label counts (C,)."""
    weight_decay: float | Tensor
    """That of the local optimiser, a vector (d,) if some weights get none."""
    round: int
    """t, counted from 0."""
    k: int = 0
    """Local steps made so far; H in `end`."""
    msg: State = field(default_factory=dict)
    """What the server sent."""
    state: State = field(default_factory=dict)
    """What lasts from one turn of the client to its next."""
    upload: State = field(default_factory=dict)
    """What goes to the server beside the update."""
    scratch: State = field(default_factory=dict)
    """What lasts for this turn."""
    drawn: State = field(default_factory=dict)
    """This part's random numbers, from `draw`."""
    full_gradient: Gradient = only_in_ask
    """Gives the gradient of the loss over all of the client's data, in `ask` only."""
    y: Model = field(init=False)
    """In `end`: the model y_i that was trained, with the client's norm buffers."""

    @property
    def model(self) -> Model:
        """The global model of this round."""
        return Model(self.w, self.buffers)

    @property
    def effective_steps(self) -> float:
        """‖a_i‖₁ (convention 3), by which to divide what H local steps have moved; H for plain SGD.

        They move by η Σ_j a_ij g_ij, so that D_i/(η ‖a_i‖₁) is a mean of the gradients. With Adam
        there is no such number, and `FedbenchError` is raised.
        """
        return self.fed.optimiser.effective_steps(self.H)


@dataclass(kw_only=True, repr=False)
class Batch(OneLine):
    """One mini-batch, and the outputs of the model in training, the student."""

    x: Tensor
    """Inputs (B, …)."""
    y: Tensor
    """Labels (B,)."""
    logits: Tensor
    """The student's logits (B, C)."""
    features: Tensor
    """What its classifier gets, (B, …)."""
    w: Tensor
    """Its weights at this step (d,)."""
    net: Net
    """The network."""
    global_model: Model
    """The global model of the round."""
    criterion: Loss
    """The run's loss: logits (B, C) and labels (B,) → one value per sample (B,)."""
    seen: Seen = field(default_factory=dict)
    """Outputs of other models that were asked for already."""

    def of(self, model: Model) -> tuple[Tensor, Tensor]:
        """(logits, features) of any model in evaluation mode, without gradient.

        Computed once per batch, however many parts ask for them.
        """
        key = tuple(id(value) for value in (model.w, *model.buffers.values()))
        if key not in self.seen:
            with torch.no_grad():
                self.seen[key] = model, self.net.eval(model, self.x)
        return self.seen[key][1]

    @property
    def ref(self) -> tuple[Tensor, Tensor]:
        """(logits, features) of the global model."""
        return self.of(self.global_model)

    def head(self, features: Tensor) -> Tensor:
        """The logits of the student's classifier, at its present weights, for `features`."""
        return self.net.head(self.w, features)


@dataclass(kw_only=True, repr=False)
class Round(OneLine):
    """A round at the server as one part sees it; fields read too early raise `FedbenchError`."""

    _later: ClassVar = {
        "steps": "from the hook `answer` on",
        "effective_steps": "from the hook `answer` on, and with local SGD alone",
        **dict.fromkeys(("models", "raw", "uploads", "statistics"), "from the hook `weigh` on"),
        "i": "in the hook `receive`",
        "new": "in the hook `evaluate`",
    }

    fed: Federation
    """What stays the same in all rounds."""
    round: int
    """t, counted from 0."""
    lr: float
    """The learning rate η_t."""
    w: Tensor
    """The weights of the global model x_t (d,)."""
    buffers: Buffers
    """The buffers of its norm layers."""
    clients: Sequence[int]
    """The cohort S_t whose results the server gets, ascending."""
    counts: Tensor
    """n_i, samples of each of its clients (m,)."""
    p: Tensor
    """Mixing weights (m,), which sum to 1."""
    validate: Callable[[Model], Tensor]
    """Computes a model's loss on held-out data."""
    proxy: Callable[[], Tensor]
    """Gives the held-out inputs (N, …) without labels."""
    amounts: Mapping[int, int] = field(default_factory=dict)
    """Local epochs of its clients, or steps where the run counts these, by their numbers."""
    dropped: Mapping[int, int] = field(default_factory=dict)
    """The same of clients that were too late."""
    times: Tensor = field(default_factory=lambda: torch.ones(()))
    """How often each of its clients was drawn (m,)."""
    rng: torch.Generator = field(default_factory=torch.Generator)
    """This part's random generator for the round."""
    state: State = field(default_factory=dict)
    """What the part keeps at the server from round to round."""
    steps: Tensor = field(init=False)
    """From `answer` on: H_i (m,)."""
    effective_steps: Tensor = field(init=False)
    """From `answer` on: ‖a_i‖₁ (m,), as `Turn` has it."""
    models: Tensor = field(init=False)
    """From `weigh` on: y_i (m, d)."""
    raw: Tensor = field(init=False)
    """From `weigh` on: D_i = x_t − y_i (m, d)."""
    uploads: Sequence[State] = field(init=False)
    """From `weigh` on: each client's `upload` of this part."""
    statistics: Sequence[Buffers] = field(init=False)
    """From `weigh` on: the norm buffers of each y_i."""
    i: int = field(init=False)
    """In `receive`: the client's place in the cohort."""
    new: Tensor = field(init=False)
    """In `evaluate`: x_{t+1} (d,)."""

    def set_steps(self, H: Sequence[int]) -> None:
        """Set both numbers of steps, from Python's numbers: no device is waited for."""
        self.steps = self.w.new_tensor(H)
        if isinstance(self.fed.optimiser, SGD):
            count = self.fed.optimiser.effective_steps
            self.effective_steps = self.w.new_tensor([count(each) for each in H])

    def mean(self, name: str) -> Tensor:
        """Σ p_i upload_i[name], added in the order of client numbers."""
        return weighted_mean([upload[name] for upload in self.uploads], self.p)

    def cohort_mean(self) -> Tensor:
        """(1/m) Σ y_i: the unweighted mean of the cohort's models."""
        return weighted_mean(self.models, torch.full_like(self.p, 1 / len(self.p)))


def weighted_mean(values: Sequence[Tensor] | Tensor, p: Tensor) -> Tensor:
    """Σ p_i v_i, added in the given order, since the order decides the last bits of a sum."""
    total = p[0] * values[0]
    product = torch.empty_like(total)  # one for all stays in the cache
    for share, value in zip(p[1:], values[1:], strict=True):
        total += torch.mul(share, value, out=product)
    return total


def pack(model: Model, name: str) -> State:
    """A model as entries of a message or a state; `unpack` turns them into a model again."""
    return {name: model.w, **{f"{name}/{key}": value for key, value in model.buffers.items()}}


def unpack(state: State, name: str) -> Model:
    """The model that `pack` wrote into `state` under this name."""
    prefix = f"{name}/"
    buffers = {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
    return Model(state[name], buffers)

"""What hooks are given: the federation, one client's turn, a mini-batch, a round at the server.

Weights, gradients and updates are flat vectors (d,).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from fedbench.base.errors import FedbenchError
from fedbench.core.flat import Buffers, Model, Net
from fedbench.core.oneline import OneLine
from fedbench.core.optimisers import SGD, Optimiser
from fedbench.core.spill import Spill

State = dict[str, Tensor]
Gradient = Callable[[Tensor], Tensor]
# A model's outputs by the `id`s of its tensors. The model is stored beside them: if it were freed,
# another tensor could get the same `id`.
Seen = dict[tuple[int, ...], tuple[Model, tuple[Tensor, Tensor]]]


@dataclass(frozen=True, repr=False)
class Fed(OneLine):
    """What stays the same in all rounds of a run.

    K: clients; m: size of the cohort; classes: C; d: weights of the model; n: samples per client
    (K,); labels: label counts per client (K, C); lr: the first learning rate η_0; rounds: T;
    net: the network; start: x_0 with its buffers; spill: makes tables that may be on disk;
    optimiser: that of the local steps.
    """

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
    optimiser: Optimiser = field(default_factory=SGD)

    def table(self) -> Tensor:
        """Zeros (K, d): one vector per client, on disk if the table does not fit in memory."""
        return self.spill.table(self.K, self.start.w)


def only_in_ask(w: Tensor) -> Tensor:
    """What `full_gradient` is in all hooks but `ask`: raises `FedbenchError`."""
    raise FedbenchError(
        "t.full_gradient can be called in the hook `ask` only; store what it returns in `t.run`"
    )


def _too_early(fields: str, hooks: dict[str, str], name: str) -> Exception:
    """The error for a field that has no value yet; `hooks` says by field when it has one."""
    if name not in hooks:
        return AttributeError(f"'{fields}' has no field '{name}'")
    return FedbenchError(f"{fields}.{name} has no value yet: {hooks[name]}")


@dataclass(kw_only=True, repr=False)
class Turn(OneLine):
    """One client's turn in one round, as one part sees it.

    w, buffers: the global model; lr: this round's learning rate; round: t, counted from 0; k: local
    steps made so far; H: local steps that this client makes (k = H in `end`); weight_decay: that of
    the local optimiser, as a vector (d,) if some weights get none; n: the client's number of
    samples; labels: its label counts (C,).

    The states: `msg` came from the server, `mine` lasts from one turn of the client to the next,
    `up` goes to the server, `run` lasts for this turn, `drawn` holds this part's random numbers.
    `full_gradient` gives the gradient of the loss over all of the client's data, in `ask` only. In
    `end`, y is the model y_i that was trained, with the client's norm buffers.
    """

    fed: Fed
    w: Tensor
    buffers: Buffers
    lr: float
    H: int
    n: Tensor
    labels: Tensor
    weight_decay: float | Tensor
    round: int
    k: int = 0
    msg: State = field(default_factory=dict)
    mine: State = field(default_factory=dict)
    up: State = field(default_factory=dict)
    run: State = field(default_factory=dict)
    drawn: State = field(default_factory=dict)
    full_gradient: Gradient = only_in_ask
    y: Model = field(init=False)

    if not TYPE_CHECKING:  # otherwise mypy would accept any name

        def __getattr__(self, name: str) -> Any:
            raise _too_early("Turn", _TURN, name)

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


_TURN = {"y": "the model that was trained can be read in the hook `end`"}


@dataclass(kw_only=True, repr=False)
class Batch(OneLine):
    """One mini-batch: inputs x, labels y (B,), and the outputs of the model in training.

    logits (B, C) and features are those of the model in training, the student, whose weights at
    this step are `w`.
    """

    x: Tensor
    y: Tensor
    logits: Tensor
    features: Tensor
    w: Tensor
    net: Net
    global_model: Model
    seen: Seen = field(default_factory=dict)

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
    """One round at the server, as one part sees it.

    round: t, counted from 0; w: x_t; lr: η_t; clients: the cohort S_t in ascending order; counts:
    n_i (m,); p: mixing weights (m,); mine: this part's state; rng: this part's random generator for
    the round; validate: computes a model's loss on held-out data; proxy: gives the held-out inputs
    (N, …) without labels.

    The following have no value at first, and raise `FedbenchError` if they are read too early.
    From `answer` on, steps: H_i (m,); effective_steps: ‖a_i‖₁ (m,), as `Turn` has it. From `weigh`
    on, models: y_i (m, d); raw: D_i = x_t − y_i (m, d); ups: each client's `up` of this part;
    statistics: the norm buffers of each y_i. In `receive`, i: the client's place in the cohort. In
    `evaluate`, new: x_{t+1}.
    """

    fed: Fed
    round: int
    lr: float
    w: Tensor
    buffers: Buffers
    clients: Sequence[int]
    counts: Tensor
    p: Tensor
    validate: Callable[[Model], Tensor]
    proxy: Callable[[], Tensor]
    rng: torch.Generator = field(default_factory=torch.Generator)
    mine: State = field(default_factory=dict)
    steps: Tensor = field(init=False)
    effective_steps: Tensor = field(init=False)
    models: Tensor = field(init=False)
    raw: Tensor = field(init=False)
    ups: Sequence[State] = field(init=False)
    statistics: Sequence[Buffers] = field(init=False)
    i: int = field(init=False)
    new: Tensor = field(init=False)

    if not TYPE_CHECKING:  # otherwise mypy would accept any name

        def __getattr__(self, name: str) -> Any:
            raise _too_early("Round", _ROUND, name)

    def set_steps(self, H: Sequence[int]) -> None:
        """Set both numbers of steps, from Python's numbers: no device is waited for."""
        self.steps = self.w.new_tensor(H)
        if isinstance(self.fed.optimiser, SGD):
            count = self.fed.optimiser.effective_steps
            self.effective_steps = self.w.new_tensor([count(each) for each in H])

    def mean(self, name: str) -> Tensor:
        """Σ p_i up_i[name], added in the order of client numbers."""
        return weighted_mean([up[name] for up in self.ups], self.p)

    def cohort_mean(self) -> Tensor:
        """(1/m) Σ y_i: the unweighted mean of the cohort's models."""
        return weighted_mean(self.models, torch.full_like(self.p, 1 / len(self.p)))


_TRAINED = "it can be read from the hook `weigh` on, after the cohort has trained"
_ROUND = {
    "steps": "it can be read from the hook `answer` on, after the batches have been drawn",
    "effective_steps": "it can be read from the hook `answer` on, and with local SGD alone",
    **dict.fromkeys(("models", "raw", "ups", "statistics"), _TRAINED),
    "i": "it can be read in the hook `receive` only, which is called once per client",
    "new": "it can be read in the hook `evaluate`, after the next global model was made",
}


def weighted_mean(values: Sequence[Tensor] | Tensor, p: Tensor) -> Tensor:
    """Σ p_i v_i, added in the given order, since the order decides the last bits of a sum."""
    total = p[0] * values[0]
    for share, value in zip(p[1:], values[1:], strict=True):
        total += share * value
    return total


def pack(model: Model, name: str) -> State:
    """A model as entries of a message or a state; `unpack` turns them into a model again."""
    return {name: model.w, **{f"{name}/{key}": value for key, value in model.buffers.items()}}


def unpack(state: State, name: str) -> Model:
    """The model that `pack` wrote into `state` under this name."""
    prefix = f"{name}/"
    buffers = {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
    return Model(state[name], buffers)

"""What a method's hooks are given: the federation, a client's turn, a batch, a round at the server.

Weights, gradients and updates are flat vectors (d,).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from fedbench.base.errors import FedbenchError
from fedbench.core.flat import Buffers, Model, Net
from fedbench.core.spill import Spill

State = dict[str, Tensor]
Gradient = Callable[[Tensor], Tensor]
# Outputs by the identities of a model's tensors. The model is stored with them: were it freed,
# another tensor could get the same identity.
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
        """Zeros (K, d): one vector per client, on disk if the table is large."""
        return self.spill.table(self.K, self.start.w)


def only_in_ask(w: Tensor) -> Tensor:
    """Stand in for `full_gradient` in all other hooks: raises `FedbenchError`."""
    raise FedbenchError(
        "t.full_gradient can be called in the hook `ask` only; store what it returns in `t.run`"
    )


def _too_early(fields: str, hooks: dict[str, str], name: str) -> Exception:
    """What to raise for a field that has no value: `hooks` says from which hook on it has one."""
    if name not in hooks:
        return AttributeError(f"'{fields}' has no field '{name}'")
    return FedbenchError(f"{fields}.{name} has no value yet: {hooks[name]}")


@dataclass(kw_only=True)
class Turn:
    """One client's turn in one round, as one part sees it.

    w, buffers: the global model; lr: this round's learning rate; k: local steps made so far; H:
    steps that this client makes (k = H in `end`); weight_decay: of the local optimiser, (d,) where
    some weights are spared; n: the client's samples; labels: its label counts (C,).

    Of the states, `msg` came from the server, `mine` lasts from one turn of the client to the next,
    `up` goes to the server, `run` lasts for this turn, `drawn` holds this part's random numbers.
    `full_gradient` gives the gradient of the client's whole loss, in `ask` only. In `end`, y is
    the model y_i that was trained, with the client's norm buffers.
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
    full_gradient: Gradient = only_in_ask
    y: Model = field(init=False, repr=False)

    if not TYPE_CHECKING:  # else mypy would accept any name

        def __getattr__(self, name: str) -> Any:
            raise _too_early("Turn", _TURN, name)

    @property
    def model(self) -> Model:
        """The global model of this round."""
        return Model(self.w, self.buffers)


_TURN = {"y": "the trained model is there in the hook `end`"}


@dataclass(kw_only=True)
class Batch:
    """One mini-batch: inputs x, labels y (B,), and what the student makes of them.

    logits (B, C) and features are those of the model in training, the student, whose weights at
    this step are `w`. mask (B,) is 0 for rows that only pad the batch; None if there are none.
    """

    x: Tensor
    y: Tensor
    logits: Tensor
    features: Tensor
    w: Tensor
    net: Net
    global_model: Model
    mask: Tensor | None = None
    seen: Seen = field(default_factory=dict)

    def mean(self, values: Tensor) -> Tensor:
        """Mean over the batch's real samples of one value per sample (B,)."""
        if self.mask is None:
            return values.mean()
        return (values * self.mask).sum() / self.mask.sum().clamp(min=1)

    def of(self, model: Model) -> tuple[Tensor, Tensor]:
        """(logits, features) of any model in evaluation mode, computed once for all parts."""
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
        """Logits that the student's classifier, at its present weights, gives to `features`."""
        return self.net.head(self.w, features)


@dataclass(kw_only=True)
class Round:
    """One round at the server, as one part sees it.

    round: t, counted from 0; w: x_t; lr: η_t; clients: the cohort S_t in ascending order; counts:
    n_i (m,); p: mixing weights (m,); `mine`: this part's state; `rng`: this part's random generator
    for the round; `validate`: a model's loss on held-out data; `proxy`: held-out inputs (N, …)
    without labels.

    These have a value later, and raise `FedbenchError` if they are read before: steps: H_i (m,),
    from `answer` on; models: y_i (m, d), raw: D_i = x_t − y_i (m, d), ups: each client's `up` of
    this part, and statistics: each y_i's norm buffers, from `weigh` on; i: the client's place in
    the cohort, in `receive`; new: x_{t+1}, in `evaluate`.
    """

    fed: Fed
    round: int
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
    steps: Tensor = field(init=False, repr=False)
    models: Tensor = field(init=False, repr=False)
    raw: Tensor = field(init=False, repr=False)
    ups: Sequence[State] = field(init=False, repr=False)
    statistics: Sequence[Buffers] = field(init=False, repr=False)
    i: int = field(init=False, repr=False)
    new: Tensor = field(init=False, repr=False)

    if not TYPE_CHECKING:  # else mypy would accept any name

        def __getattr__(self, name: str) -> Any:
            raise _too_early("Round", _ROUND, name)

    def mean(self, name: str) -> Tensor:
        """Σ p_i up_i[name], added in the order of client numbers."""
        return weighted_mean([up[name] for up in self.ups], self.p)

    def cohort_mean(self) -> Tensor:
        """(1/m) Σ y_i: the plain mean of the cohort's models, whatever the mixing weights."""
        return weighted_mean(self.models, torch.full_like(self.p, 1 / len(self.p)))


_TRAINED = "it is there from the hook `weigh` on, when the cohort has trained"
_ROUND = {
    "steps": "it is there from the hook `answer` on, when the cohort's batches are drawn",
    **dict.fromkeys(("models", "raw", "ups", "statistics"), _TRAINED),
    "i": "it is there in the hook `receive` only, which is called once per client",
    "new": "it is there in the hook `evaluate`, when the next global model has been made",
}


def weighted_mean(values: Sequence[Tensor] | Tensor, p: Tensor) -> Tensor:
    """Σ p_i v_i, added one by one: the order of a sum decides its last bits."""
    total = p[0] * values[0]
    for share, value in zip(p[1:], values[1:], strict=True):
        total = total + share * value
    return total


def pack(model: Model, name: str) -> State:
    """A model as entries of a message or of a state; `unpack` reads it back."""
    return {name: model.w, **{f"{name}/{key}": value for key, value in model.buffers.items()}}


def unpack(state: State, name: str) -> Model:
    """The model that `pack` put into `state` under this name."""
    prefix = f"{name}/"
    buffers = {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
    return Model(state[name], buffers)

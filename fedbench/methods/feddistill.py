"""FedDistill+: clients share their mean logits per label, beside their models."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from fedbench.base.checks import NonNegative, Positive
from fedbench.core import ops
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round_data import Batch, Federation, Round, State, Turn


@dataclass(frozen=True)
class FedDistill(Part):
    """Add γ T² KL(softmax(T_i[y]/T) ‖ softmax(z/T)), T_i the mean of the other clients' tables.

    Row c of client i's table Ḡ_i (C, C) is the sum of its logits of training samples with label c,
    over their number + 1. Seo et al., "Federated Knowledge Distillation", 2020, with shared models
    as in the FedGKD paper; the + 1 and the tables are those of FedGen's public code. The first
    round has no such term.
    """

    needs_classes = True

    coef: NonNegative = 0.1  # 0 is FedAvg
    T: Positive = 1.0  # the paper's sentence on it is incomplete; 3 is the other common value
    scale_t: bool = True  # the factor T²
    # T_i is the mean of which tables. leave_one_out: those of the last cohort but for client i's, a
    # row over the clients that have the class; all_clients: those of the K−1 other clients, zeros
    # if they never took part; mean: those of the last cohort, over its size
    average: Literal["leave_one_out", "all_clients", "mean"] = "leave_one_out"
    accumulate: Literal["round", "all"] = "round"  # Ḡ_i from this turn, or from all turns so far
    # The samples that KL's mean is over: all, or those whose label has a row in T_i
    over: Literal["batch", "active"] = "batch"
    zero_teacher: bool = False  # tables of zeros, by mistake in the released code

    shares = "each client's mean logits per label, and which labels it has"

    def server(self, w: Tensor, fed: Federation) -> State:
        """Tables and which classes they have: sums over the last cohort, or one per client."""
        clients = (fed.K,) if self.average == "all_clients" else ()
        C = fed.classes
        return {"table": w.new_zeros(*clients, C, C), "present": w.new_zeros(*clients, C)}

    def client(self, w: Tensor, fed: Federation) -> State:
        """Per label the sum of logits and the number of samples; `when`: the last turn's round."""
        C = fed.classes
        return {"sums": w.new_zeros(C, C), "counts": w.new_zeros(C), "when": w.new_full((), -1)}

    def send(self, r: Round) -> State:
        """Send the sum of the tables, and per class how many clients have it."""
        if self.average == "all_clients":
            return {name: value.sum(0) for name, value in r.state.items()}
        return dict(r.state)

    def begin(self, w: Tensor, t: Turn) -> Tensor:
        """Compute T_i; begin the sums of logits anew, or continue them."""
        target, has_row = self._target(t)
        start = {name: t.state[name] for name in ("sums", "counts")}
        if self.accumulate == "round":
            start = {name: torch.zeros_like(value) for name, value in start.items()}
        t.scratch |= {"target": target, "known": has_row.to(w.dtype), **start}
        return w

    def loss(self, value: Tensor, b: Batch, t: Turn) -> Tensor:
        """CE + γ T² KL, the second term over samples whose label has a row in T_i."""
        if t.round == 0:
            return value
        has_row = t.scratch["known"][b.y]
        divergence = (has_row * ops.kl(t.scratch["target"][b.y] / self.T, b.logits / self.T)).mean()
        if self.over == "active":
            divergence = divergence / has_row.mean().clamp(min=1 / len(b.y))
        return value + self.coef * (self.T**2 if self.scale_t else 1) * divergence

    def after(self, b: Batch, t: Turn) -> None:
        """Add the batch's logits to the sums of their labels."""
        one_hot = ops.is_true(b.logits, b.y).to(b.logits.dtype)
        t.scratch["sums"] = t.scratch["sums"] + one_hot.T @ b.logits
        t.scratch["counts"] = t.scratch["counts"] + one_hot.sum(0)

    def end(self, delta: Tensor, t: Turn) -> Tensor:
        """Upload Ḡ_i and which labels it has."""
        t.state = {name: t.scratch[name] for name in ("sums", "counts")}
        t.state["when"] = torch.full_like(t.state["counts"][0], t.round)
        t.upload["table"], t.upload["present"] = _table(t.state)
        return delta

    def step(self, d: Tensor, r: Round) -> Tensor:
        """Store the cohort's tables; the global update is left as it is."""
        new = {name: torch.stack([up[name] for up in r.uploads]) for name in r.state}
        if self.average == "all_clients":
            rows = torch.as_tensor(r.clients, device=d.device)
            r.state = {k: v.index_copy(0, rows, new[k]) for k, v in r.state.items()}
            return d
        r.state = {name: value.sum(0) for name, value in new.items()}
        if self.average == "mean":
            r.state["table"] = r.state["table"] / len(r.uploads)
        return d

    def cost(self, size: Sizes) -> Cost:
        """A client is sent and uploads a table (C, C) and one number per class."""
        table = size.classes**2 + size.classes
        return Cost(
            down=table, up=table, client_memory=table + 1,
            server_memory=table * (size.K if self.average == "all_clients" else 1),
        )  # fmt: skip

    def _target(self, t: Turn) -> tuple[Tensor, Tensor]:
        """T_i (C, C), and which of its rows have logits (C,)."""
        total, number = t.msg["table"], t.msg["present"]
        if self.zero_teacher:
            return torch.zeros_like(total), number >= 0
        if self.average == "mean":
            return total, number > 0
        table, present = _table(t.state)
        if self.average == "all_clients":
            return (total - table) / max(t.fed.K - 1, 1), number > present
        was_there = t.state["when"] == t.round - 1
        number = number - present * was_there
        return (total - table * was_there) / number.clamp(min=1)[:, None], number > 0


def _table(state: State) -> tuple[Tensor, Tensor]:
    """The table Ḡ_i (C, C), and which classes it has (C,)."""
    table = state["sums"] / (state["counts"] + 1)[:, None]
    return table, (state["counts"] > 0).to(table.dtype)

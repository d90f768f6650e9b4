"""FedDistill+: clients share their mean logits of each label, beside their models."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from fedbench.base.checked import NonNegative, Positive
from fedbench.core import ops
from fedbench.core.part import Cost, Part, Sizes
from fedbench.core.round import Batch, Fed, Round, State, Turn


@dataclass(frozen=True)
class FedDistill(Part):
    """Add γ T² KL(softmax(T_i[y]/T) ‖ softmax(z/T)), T_i the mean table of the other clients.

    A client's table Ḡ_i[c] is Σ of the logits it saw while training on label c, over their number
    + 1. Seo et al., "Federated Knowledge Distillation", 2020, with shared models as in the FedGKD
    paper; counts from 1 and tables as in FedGen's public code. Round 1 has no term.
    """

    coef: NonNegative = 0.1  # 0 is FedAvg
    T: Positive = 1.0  # the paper's sentence on it breaks off; 3 is the usual other value
    scale_t: bool = True  # the factor T²
    # Whose tables: of the last cohort without one's own, a class over those who have it; of all
    # clients without one's own, over K−1, the never seen as 0; of the last cohort, over its size
    average: Literal["leave_one_out", "all_clients", "mean"] = "leave_one_out"
    accumulate: Literal["round", "all"] = "round"  # logits of this turn, or of all turns so far
    over: Literal["batch", "active"] = "batch"  # the mean's divisor where labels are in no table
    zero_teacher: bool = False  # the released code's slip: tables of zeros, a uniform target

    shares: ClassVar[str] = "each client's mean logits of each label, and which labels it has"

    def server(self, w: Tensor, fed: Fed) -> State:
        """Tables and present classes: the last cohort's sums, or every client's."""
        clients = (fed.K,) if self.average == "all_clients" else ()
        C = fed.classes
        return {"table": w.new_zeros(*clients, C, C), "present": w.new_zeros(*clients, C)}

    def client(self, w: Tensor, fed: Fed) -> State:
        """Sums of logits and numbers of samples by label; `when`: the last round of a turn."""
        C = fed.classes
        return {
            "sums": w.new_zeros(C, C),
            "counts": w.new_zeros(C),
            "when": w.new_full((), -1),
        }

    def send(self, r: Round) -> State:
        """The tables' sum, and how many clients have each class."""
        if self.average == "all_clients":
            return {name: value.sum(0) for name, value in r.mine.items()}
        return dict(r.mine)

    def begin(self, w: Tensor, t: Turn) -> Tensor:
        """Work out T_i; start or continue counting."""
        target, known = self._target(t)
        start = {name: t.mine[name] for name in ("sums", "counts")}
        if self.accumulate == "round":
            start = {name: torch.zeros_like(value) for name, value in start.items()}
        t.run |= {"target": target, "known": known.to(w.dtype), **start}
        return w

    def loss(self, value: Tensor, b: Batch, t: Turn) -> Tensor:
        """CE + γ T² KL, over samples whose label is in the table."""
        if t.round == 0:
            return value
        known = t.run["known"][b.y]
        apart = b.mean(known * ops.kl(t.run["target"][b.y] / self.T, b.logits / self.T))
        if self.over == "active":
            apart = apart / b.mean(known).clamp(min=1 / len(b.y))
        return value + self.coef * (self.T**2 if self.scale_t else 1) * apart

    def after(self, b: Batch, t: Turn) -> None:
        """Add the batch's logits, label by label."""
        hit = ops.is_true(b.logits, b.y).to(b.logits.dtype)
        if b.mask is not None:
            hit = hit * b.mask[:, None]
        t.run["sums"] = t.run["sums"] + hit.T @ b.logits
        t.run["counts"] = t.run["counts"] + hit.sum(0)

    def end(self, delta: Tensor, t: Turn) -> Tensor:
        """Upload Ḡ_i and which labels it has."""
        t.mine = {name: t.run[name] for name in ("sums", "counts")}
        t.mine["when"] = torch.full_like(t.mine["counts"][0], t.round)
        t.up["table"], t.up["present"] = _table(t.mine)
        return delta

    def step(self, d: Tensor, r: Round) -> Tensor:
        """Take in the cohort's tables."""
        new = {name: torch.stack([up[name] for up in r.ups]) for name in r.mine}
        if self.average == "all_clients":
            rows = torch.as_tensor(r.clients, device=d.device)
            r.mine = {name: value.index_copy(0, rows, new[name]) for name, value in r.mine.items()}
            return d
        r.mine = {name: value.sum(0) for name, value in new.items()}
        if self.average == "mean":
            r.mine["table"] = r.mine["table"] / len(r.ups)
        return d

    def cost(self, size: Sizes) -> Cost:
        """One table and one mark per class, each way."""
        table = size.classes**2 + size.classes
        return Cost(
            down=table,
            up=table,
            client_memory=table + 1,
            server_memory=table * (size.K if self.average == "all_clients" else 1),
        )

    def _target(self, t: Turn) -> tuple[Tensor, Tensor]:
        """T_i (C, C) and which of its rows are known (C,)."""
        total, number = t.msg["table"], t.msg["present"]
        if self.zero_teacher:
            return torch.zeros_like(total), number >= 0
        if self.average == "mean":
            return total, number > 0
        own, present = _table(t.mine)
        if self.average == "all_clients":
            return (total - own) / max(t.fed.K - 1, 1), number > present
        was_there = t.mine["when"] == t.round - 1
        number = number - present * was_there
        return (total - own * was_there) / number.clamp(min=1)[:, None], number > 0


def _table(state: State) -> tuple[Tensor, Tensor]:
    """Ḡ (C, C) and which classes are in it (C,)."""
    table = state["sums"] / (state["counts"] + 1)[:, None]
    return table, (state["counts"] > 0).to(table.dtype)

"""Repeats the local training of a round's clients to record the gradients of every step."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from fedbench.base.errors import FedbenchError
from fedbench.core.flat import Model
from fedbench.core.round import Round
from fedbench.engine.local import (
    ClientResult,
    Differentiate,
    Outputs,
    RoundStart,
    by_autograd,
)
from fedbench.engine.local_round import local_round
from fedbench.engine.problem import Problem
from fedbench.engine.turns import PreparedClient, dropout, snapshot


class Replayed(NamedTuple):
    """One client's repeated training: its result, and the gradient at each step (H, d).

    The mini-batch gradients contain the method's loss terms, but none of its gradient terms
    (FedProx's pull, control variates), no clipping, weight decay or momentum. Of a method that
    differentiates several times per step (SAM), they are the first, at y^k.
    """

    reply: ClientResult
    gradients: Tensor


def replay(problem: Problem, r: Round, clients: Sequence[PreparedClient]) -> Iterator[Replayed]:
    """Repeat each client's training with its batches, messages, states and random numbers.

    `clients` are as prepared before their training, and are not changed. Each is trained alone: a
    client that trained side by side with others is repeated up to rounding. Costs the local
    training of each client once more.
    """
    start = RoundStart(Model(r.w, r.buffers), r.lr)
    for client in snapshot(clients):
        gradients: list[Tensor] = []
        with torch.no_grad(), dropout(problem.task, client):
            reply = local_round(
                problem.task, start, client.turns, client.batches, r.buffers, _recording(gradients)
            )
        yield Replayed(reply, torch.stack(_first(gradients, len(client.batches.rows))))


def _recording(gradients: list[Tensor]) -> Differentiate:
    def differentiate(
        objective: Callable[[Tensor], tuple[Tensor, Outputs]], w: Tensor
    ) -> tuple[Tensor, Outputs]:
        gradient, outputs = by_autograd(objective, w)
        gradients.append(gradient)
        return gradient, outputs

    return differentiate


def _first(gradients: list[Tensor], steps: int) -> list[Tensor]:
    """The first gradient of each step, where every step has equally many."""
    if len(gradients) % steps:
        raise FedbenchError(
            f"replay: {len(gradients)} gradients in {steps} steps; a part of this method does not "
            "differentiate the same number of times in each step"
        )
    return gradients[:: len(gradients) // steps]

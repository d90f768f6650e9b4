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
    local_round,
)
from fedbench.engine.problem import Problem
from fedbench.engine.turns import PreparedClient, dropout, twins


class Replayed(NamedTuple):
    """One client's local training again: its reply, and the loss's gradient at each step (H, d).

    The mini-batch gradients hold the method's loss terms, but none of its gradient terms (FedProx's
    pull, control variates), no clip, weight decay or momentum. A method that differentiates several
    times a step (SAM) shows the first time, at y^k.
    """

    reply: ClientResult
    gradients: Tensor


def replay(problem: Problem, r: Round, clients: Sequence[PreparedClient]) -> Iterator[Replayed]:
    """Each client's local training, looped; same batches, messages, states and random numbers.

    `clients` stand as before their training and stay so. Costs a client's local work each.
    """
    start = RoundStart(Model(r.w, r.buffers), r.lr)
    for client in twins(clients):
        found: list[Tensor] = []
        with torch.no_grad(), dropout(problem.task, client):
            reply = local_round(
                problem.task, start, client.turns, client.batches, r.buffers, _recording(found)
            )
        yield Replayed(reply, torch.stack(_first(found, len(client.batches.rows))))


def _recording(found: list[Tensor]) -> Differentiate:
    def differentiate(
        objective: Callable[[Tensor], tuple[Tensor, Outputs]], w: Tensor
    ) -> tuple[Tensor, Outputs]:
        gradient, outputs = by_autograd(objective, w)
        found.append(gradient)
        return gradient, outputs

    return differentiate


def _first(found: list[Tensor], steps: int) -> list[Tensor]:
    """The first gradient of each step."""
    if len(found) % steps:
        raise FedbenchError(
            f"replay: {len(found)} gradients in {steps} steps; a part of this method does not "
            "differentiate the same number of times in each step"
        )
    return found[:: len(found) // steps]

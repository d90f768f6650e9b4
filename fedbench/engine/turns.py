"""Prepares a cohort: each client's batches, random numbers, messages and stored state."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fedbench.base import seeds
from fedbench.core.flat import Buffers
from fedbench.core.part import overriding
from fedbench.core.rng import seeded, torch_generator
from fedbench.core.round import Gradient, Round, State, Turn, only_in_ask
from fedbench.engine.batches import batches
from fedbench.engine.inputs import views
from fedbench.engine.local import ClientBatches, LocalTask
from fedbench.engine.problem import Problem

_CHUNK = 500  # samples per pass of the full gradient


@dataclass(frozen=True)
class PreparedClient:
    """One client, ready to train: one turn per part, and its batches."""

    client: int
    turns: list[Turn]
    batches: ClientBatches
    noise: int  # the seed of its dropout


def prepare(
    problem: Problem, r: Round, client: int, messages: Sequence[State], stored: Sequence[State]
) -> PreparedClient:
    """A client's turns and batches; which samples and in which order depends on no method.

    messages: what each part sends; stored: what each part stored after the client's last turn.
    """
    rows = rows_of_batches(problem, r.round, client, r.amounts.get(client, problem.spec.most))
    n, labels = problem.fed.n[client], problem.fed.labels[client]
    spec, decays = problem.spec, problem.task.decays
    decay = spec.weight_decay if decays is None else spec.weight_decay * decays
    turns = [
        Turn(
            fed=problem.fed,
            w=r.w,
            buffers=r.buffers,
            lr=r.lr,
            H=len(rows),
            n=n,
            labels=labels,
            weight_decay=decay,
            round=r.round,
            msg=message,
            state=dict(mine),
        )
        for message, mine in zip(messages, stored, strict=True)
    ]
    _draw(problem, r.round, client, turns)
    seen = views(spec.augment, rows, spec.seed, r.round, client) if spec.augment else None
    data = ClientBatches(rows=rows, views=seen)
    return PreparedClient(client, turns, data, seeds.number(spec.seed, r.round, client, "dropout"))


def snapshot(clients: Sequence[PreparedClient]) -> list[PreparedClient]:
    """Copies of the clients as they are now; training the originals does not change them.

    Clients that share one message share one copy of it.
    """
    shared: dict[int, State] = {}

    def twin(t: Turn) -> Turn:
        msg = shared.setdefault(id(t.msg), dict(t.msg))
        return replace(
            t, msg=msg, state=dict(t.state), upload=dict(t.upload), scratch=dict(t.scratch)
        )

    return [replace(c, turns=[twin(t) for t in c.turns]) for c in clients]


def exchange(problem: Problem, copies: Sequence[Round], clients: Sequence[PreparedClient]) -> int:
    """Make the extra exchange before training: `ask` at each client, `answer` at the server.

    copies: of the round, one per part. The answers are added to the clients' messages. Returns how
    many numbers the clients sent.
    """
    parts, sent = problem.task.parts, 0
    for i in overriding(parts, "ask"):
        asks = [asked(problem, c, i) for c in clients]
        answer = parts[i].answer(asks, copies[i].p, copies[i])
        for c in clients:
            c.turns[i].msg = {**c.turns[i].msg, **answer}
        sent += sum(value.numel() for ask in asks for value in ask.values())
    return sent


def asked(problem: Problem, c: PreparedClient, i: int) -> State:
    """What part number i sends from this client in the extra exchange."""
    turn, task = c.turns[i], problem.task
    turn.full_gradient = full_gradient(task, turn.buffers, problem.rows[c.client])
    with dropout(task, c) if task.net.has_dropout else contextlib.nullcontext():
        sent = task.parts[i].ask(turn.w, turn)
    turn.full_gradient = only_in_ask
    return sent


def dropout(task: LocalTask, c: PreparedClient) -> contextlib.AbstractContextManager[None]:
    """A context in which dropout, and users' code that draws, draw from the client's seed."""
    if not task.draws:
        return contextlib.nullcontext()
    return seeded(c.noise, task.x.device, task.users.acts)


def full_gradient(task: LocalTask, statistics: Buffers, rows: Tensor) -> Gradient:
    """The gradient of a client's whole loss F_i at any weights, without the parts' loss terms."""
    pieces = _pieces(rows.to(task.x.device), whole=task.net.has_batch_norm)

    def gradient(w: Tensor) -> Tensor:
        w = w.detach().requires_grad_()
        total = torch.zeros_like(w)
        for piece in pieces:
            buffers = {name: value.clone() for name, value in statistics.items()}
            with torch.enable_grad():
                z, _ = task.net.train(w, buffers, task.prepare(task.x[piece]))
                loss = task.loss(z, task.y[piece]).sum() / len(rows)
            total += torch.autograd.grad(loss, w)[0]
        return total

    return gradient


def _pieces(rows: Tensor, whole: bool) -> list[Tensor]:
    """The samples of each pass; `whole`: none has only one, of which batch norm has no variance."""
    pieces = list(torch.split(rows, _CHUNK))
    if whole and len(pieces) > 1 and len(pieces[-1]) == 1:
        pieces[-2:] = [torch.cat(pieces[-2:])]
    return pieces


def rows_of_batches(problem: Problem, t: int, client: int, amount: int) -> list[Tensor]:
    """The rows of each batch of a client's turn of so many epochs or, by the spec, steps."""
    spec = problem.spec
    indices = batches(
        spec.seed,
        t,
        client,
        problem.rows[client],
        spec.batch,
        None if spec.steps else amount,
        amount if spec.steps else None,
        drop_single=problem.task.net.has_batch_norm,
    )
    rows = torch.cat(indices).to(problem.device)  # one copy, not one per batch
    return list(torch.split(rows, [len(batch) for batch in indices]))


def _draw(problem: Problem, t: int, client: int, turns: Sequence[Turn]) -> None:
    for i in overriding(problem.task.parts, "draw"):
        part = problem.task.parts[i]
        rng = torch_generator(problem.spec.seed, t, client, type(part).__name__)
        turns[i].drawn = part.draw(rng, turns[i])

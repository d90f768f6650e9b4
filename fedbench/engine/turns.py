"""Prepares a cohort: each client's batches, random numbers, messages and stored state."""

import contextlib
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from fedbench.base import seeds
from fedbench.core.flat import Buffers
from fedbench.core.part import overriding
from fedbench.core.rng import torch_generator
from fedbench.core.round import Gradient, Round, State, Turn, only_in_ask
from fedbench.engine.local import LocalTask, PreparedClient
from fedbench.engine.problem import Problem
from fedbench.spec import Augment

_CHUNK = 500  # samples per pass of the full gradient


def prepare(
    problem: Problem, r: Round, client: int, messages: Sequence[State], stored: Sequence[State]
) -> PreparedClient:
    """A client's turns and batches; which samples and in which order depends on no method.

    messages: what each part sends; stored: what each part stored after the client's last turn.
    """
    spec, fed, decays = problem.spec, problem.fed, problem.task.decays
    rows = rows_of_batches(problem, r.round, client, r.amounts.get(client, spec.most))
    n, labels = fed.n[client], fed.labels[client]
    decay = spec.weight_decay if decays is None else spec.weight_decay * decays
    turns = [
        Turn(
            fed=fed, w=r.w, buffers=r.buffers, lr=r.lr, H=len(rows), n=n, labels=labels,
            weight_decay=decay, round=r.round, msg=message, state=dict(mine),
        )
        for message, mine in zip(messages, stored, strict=True)
    ]  # fmt: skip
    for i in overriding(problem.task.parts, "draw"):
        part = problem.task.parts[i]
        rng = torch_generator(spec.seed, r.round, client, type(part).__name__)
        turns[i].drawn = part.draw(rng, turns[i])
    seen = views(spec.augment, rows, spec.seed, r.round, client) if spec.augment else None
    noise = seeds.number(spec.seed, r.round, client, "dropout")
    return PreparedClient(client, turns, rows, seen, noise)


def rows_of_batches(problem: Problem, t: int, client: int, amount: int) -> list[Tensor]:
    """The rows of each batch of a client's turn of so many epochs or, by the spec, steps."""
    spec, its = problem.spec, problem.rows[client]
    epochs, steps = (None, amount) if spec.steps else (amount, None)
    lone = problem.task.net.has_batch_norm
    indices = batches(spec.seed, t, client, its, spec.batch, epochs, steps, drop_single=lone)
    rows = torch.cat(indices).to(problem.device)  # one copy, not one per batch
    return list(torch.split(rows, [len(batch) for batch in indices]))


def batches(
    seed: int,
    round_: int,
    client: int,
    rows: Tensor,
    batch: int | None,
    epochs: int | None,
    steps: int | None,
    drop_single: bool = False,
) -> list[Tensor]:
    """Indices of one turn's batches: `epochs` shuffled passes, or the first `steps` batches.

    rows (n,): the client's samples; batch: samples per batch, None for all of them; drop_single:
    leave out a last batch of one sample, which batch norm cannot use. Any other short last batch
    is used (convention 10).
    """
    size = batch or len(rows)
    generator = torch_generator(seed, round_, client, "batches")
    indices: list[Tensor] = []
    passes = 0
    while passes < epochs if epochs else len(indices) < (steps or 0):
        order = rows[torch.randperm(len(rows), generator=generator)]
        pieces = list(torch.split(order, size))
        if drop_single and size > 1 and len(pieces) > 1 and len(pieces[-1]) == 1:
            pieces.pop()
        indices += pieces
        passes += 1
    return indices if epochs else indices[:steps]


def views(
    augment: Augment, rows: list[Tensor], seed: int, round_: int, client: int
) -> list[Tensor]:
    """Random crops and flips: per batch (B, 3) of row offset, column offset, 1 if flipped.

    Offsets are those of a window in the image padded by `crop` pixels on every side; the offset
    `crop` leaves the image where it is.
    """
    rng = torch_generator(seed, round_, client, "augment")
    sizes = [len(batch) for batch in rows]
    n, pad = sum(sizes), augment.crop
    offsets = torch.randint(2 * pad + 1, (n, 2), generator=rng)
    moved = torch.rand(n, 1, generator=rng) < augment.crop_share
    flipped = torch.rand(n, 1, generator=rng) < augment.flip
    drawn = torch.cat([torch.where(moved, offsets, pad), flipped.long()], 1)
    return list(torch.split(drawn.to(rows[0].device), sizes))  # one copy, not one per batch


def snapshot(clients: Sequence[PreparedClient]) -> list[PreparedClient]:
    """Copies that training does not change; clients that share a message share one copy of it."""
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
    with task.dropout(c) if task.net.has_dropout else contextlib.nullcontext():
        sent = task.parts[i].ask(turn.w, turn)
    turn.full_gradient = only_in_ask
    return sent


def full_gradient(task: LocalTask, statistics: Buffers, rows: Tensor) -> Gradient:
    """The gradient of a client's whole loss F_i at any weights, without the parts' loss terms."""
    pieces = list(torch.split(rows.to(task.x.device), _CHUNK))
    if task.net.has_batch_norm and len(pieces) > 1 and len(pieces[-1]) == 1:
        pieces[-2:] = [torch.cat(pieces[-2:])]  # one sample has no variance

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

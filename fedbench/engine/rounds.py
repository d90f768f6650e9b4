"""A round but for local training: its cohort, their batches and messages, the next global model."""

import contextlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from fedbench.base import seeds
from fedbench.base.checks import asked_for
from fedbench.base.errors import FedbenchError, require_returned, shown
from fedbench.core.flat_network import Buffers, Model
from fedbench.core.part import overriding, returned
from fedbench.core.rng import torch_generator
from fedbench.core.round_data import Gradient, Round, State, Turn, only_in_ask, weighted_mean
from fedbench.engine.problem import ClientResult, LocalTask, PreparedClient, Problem
from fedbench.spec import Augment

_CHUNK = 500  # samples per pass of the full gradient


def open_round(
    problem: Problem, global_model: Model, t: int, losses: Mapping[int, float] | None = None
) -> Round:
    """Round t with its cohort, mixing weights, learning rate; `losses`: of clients' last turns."""
    spec, fed = problem.spec, problem.fed
    drawn = _cohort(problem, t, losses or {})
    amounts, dropped = _local_work(problem, t, list(drawn))
    clients = list(amounts)
    counts = fed.n[clients]
    times = counts.new_tensor([drawn[i] for i in clients])
    share = counts * times if spec.weights == "samples" else times
    lr = spec.lr * spec.lr_decay**t
    lr *= spec.schedule.share(t, spec.rounds) if spec.schedule else 1
    return Round(
        fed=fed, round=t, lr=lr, w=global_model.w, buffers=global_model.buffers, clients=clients,
        counts=counts, times=times, p=share / share.sum(), amounts=amounts, dropped=dropped,
        validate=problem.validate, proxy=problem.proxy,
    )  # fmt: skip


def _cohort(problem: Problem, t: int, losses: Mapping[int, float]) -> Counter[int]:
    """The clients of round t, ascending, as Python's own numbers, and how often each was drawn."""
    spec, rule, K = problem.spec, problem.sampler, problem.spec.clients
    draws = partial(seeds.numpy_generator, spec.seed, client=seeds.EVERYONE, purpose="cohort")
    more = asked_for(
        rule, 4, t=lambda: t, always=lambda: draws(seeds.ALWAYS),
        losses=lambda: np.array([losses.get(i, np.nan) for i in range(K)]),
    )  # fmt: skip
    labels = problem.label_counts.copy()  # which the rule may change
    drawn = rule(draws(t), K, spec.participation, labels, **more)
    require_returned(f"sampler: {rule}", drawn, Iterable)
    clients = Counter(np.sort(np.asarray([*drawn])).tolist())
    known = all(isinstance(i, int) and 0 <= i < K for i in clients)
    if not clients or not known or (not rule.replacement and clients.total() > len(clients)):
        raise FedbenchError(
            f"sampler: {rule} drew the clients {shown(sorted(clients.elements()))}; it "
            f"must draw at least one of 0…{K - 1}, each once"
        )
    return clients


def _local_work(
    problem: Problem, t: int, clients: Sequence[int]
) -> tuple[dict[int, int], dict[int, int]]:
    """Local epochs or steps by client: of those whose results are sent, and of all others."""
    spec, m = problem.spec, len(clients)
    draws = partial(seeds.numpy_generator, spec.seed, client=seeds.EVERYONE, purpose="work")
    offered = {"t": lambda: t, "K": lambda: spec.clients, "always": lambda: draws(seeds.ALWAYS)}
    more = asked_for(problem.work, 3, **offered)
    drawn = problem.work([*clients], spec.most, draws(t), **more)
    given = drawn if isinstance(drawn, tuple) else (drawn, np.ones(m, bool))
    amounts, sent = map(np.asarray, given)
    whole = amounts.shape == (m,) and amounts.dtype.kind in "iu" and (amounts >= 1).all()
    if not whole or sent.shape != (m,) or not sent.any():
        raise FedbenchError(
            f"work: {problem.work} gave {shown(amounts)}, sent {shown(sent)}; it must give each of "
            f"{m} clients a whole number of epochs or steps, at least 1, and one must be in time"
        )
    each = list(zip(clients, amounts.tolist(), sent, strict=True))
    return {i: n for i, n, on in each if on}, {i: n for i, n, on in each if not on}


def copies_for_parts(problem: Problem, r: Round, states: Sequence[State]) -> list[Round]:
    """One copy of the round per part, with the part's state and random generator."""
    draws = partial(torch_generator, problem.spec.seed, r.round, seeds.EVERYONE)
    return [
        replace(r, state=state, rng=draws(type(part).__name__))
        for part, state in zip(problem.task.parts, states, strict=True)
    ]


def prepare(
    problem: Problem, r: Round, client: int, messages: Sequence[State], stored: Sequence[State]
) -> PreparedClient:
    """A client's turns and batches, of the `messages` and what is `stored` by part."""
    spec, fed, decays = problem.spec, problem.fed, problem.task.decays
    rows = rows_of_batches(problem, r.round, client, r.amounts.get(client, spec.most))
    n, labels = _own(problem.task, {"n": fed.n[client], "labels": fed.labels[client]}).values()
    decay = spec.weight_decay if decays is None else spec.weight_decay * decays
    turns = [
        Turn(
            fed=fed, w=r.w, buffers=r.buffers, lr=r.lr, H=len(rows), n=n, labels=labels,
            weight_decay=decay, round=r.round, msg=message, state=_own(problem.task, mine),
        )
        for message, mine in zip(messages, stored, strict=True)
    ]  # fmt: skip
    for i in overriding(problem.task.parts, "draw"):
        part = problem.task.parts[i]
        rng = torch_generator(spec.seed, r.round, client, type(part).__name__)
        turns[i].drawn = part.draw(rng, turns[i])
    seen = views(spec.augment, rows, spec.seed, r.round, client) if spec.augment else None
    noise = seeds.number(spec.seed, r.round, client, "dropout")
    return PreparedClient(client, Model(r.w, r.buffers), r.lr, turns, rows, seen, noise)


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

    Batches have `batch` of a client's samples `rows` (n,), or all; `drop_single` leaves out a last
    one with one sample, which batch norm cannot use. A short last batch is used (convention 10).
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

    Offsets are of a window in the image padded by `crop` pixels; at `crop` it is the image.
    """
    rng = torch_generator(seed, round_, client, "augment")
    sizes = [len(batch) for batch in rows]
    n, pad = sum(sizes), augment.crop
    offsets = torch.randint(2 * pad + 1, (n, 2), generator=rng)
    moved = torch.rand(n, 1, generator=rng) < augment.crop_share
    flipped = torch.rand(n, 1, generator=rng) < augment.flip
    drawn = torch.cat([torch.where(moved, offsets, pad), flipped.long()], 1)
    return list(torch.split(drawn.to(rows[0].device), sizes))  # one copy, not one per batch


def snapshot(task: LocalTask, clients: Sequence[PreparedClient]) -> list[PreparedClient]:
    """Copies that training does not change; clients that share a message share one copy of it."""
    shared: dict[int, State] = {}

    def twin(t: Turn) -> Turn:
        msg = shared.setdefault(id(t.msg), dict(t.msg))
        state, upload, scratch = (_own(task, each) for each in (t.state, t.upload, t.scratch))
        return replace(t, msg=msg, state=state, upload=upload, scratch=scratch)

    return [replace(c, turns=[twin(t) for t in c.turns]) for c in clients]


def _own(task: LocalTask, state: State) -> State:
    """A copy of a state, and of its tensors where users' code acts, which may change them."""
    acts = task.users.acts
    return {k: v.clone() if acts and isinstance(v, Tensor) else v for k, v in state.items()}


def exchange(problem: Problem, copies: Sequence[Round], clients: Sequence[PreparedClient]) -> int:
    """Add answers to what clients `ask` to their messages; returns how many numbers they sent."""
    parts, sent = problem.task.parts, 0
    for i in overriding(parts, "ask"):
        asks = [asked(problem, c, i) for c in clients]
        answer = returned(parts[i], "answer", asks, copies[i].p, copies[i])
        for c in clients:
            c.turns[i].msg = {**c.turns[i].msg, **answer}
        sent += sum(value.numel() for ask in asks for value in ask.values())
    return sent


def asked(problem: Problem, c: PreparedClient, i: int) -> State:
    """What part number i sends from this client in the extra exchange."""
    turn, task = c.turns[i], problem.task
    turn.full_gradient = full_gradient(task, turn.buffers, problem.rows[c.client])
    with task.dropout(c) if task.net.has_dropout else contextlib.nullcontext():
        sent = returned(task.parts[i], "ask", turn.w, turn)
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


def aggregate(
    task: LocalTask, copies: Sequence[Round], r: Round, replies: Sequence[ClientResult]
) -> Model:
    """The next global model x_{t+1} = Σ p_i y_i + (Σ p_i D_i − d), d the parts' global update.

    If no part changes anything, the bracket is exactly 0, and the result is the mean of the
    clients' models, bit for bit (convention 13). The `copies` of the round get their last fields.
    """
    statistics = [reply.buffers for reply in replies]
    if not task.parts:
        mean = weighted_mean([reply.w for reply in replies], r.p)
        return Model(mean + 0.0, mix_buffers(statistics, r.p))  # the sum makes −0 a 0, as below
    models = torch.stack([reply.w for reply in replies])
    raw = r.w - models
    for i, copy in enumerate(copies):
        copy.models, copy.raw, copy.statistics = models, raw, statistics
        copy.uploads = [reply.upload[i] for reply in replies]
    p = _weighed(task, copies, r.p)
    for copy in copies:
        copy.p = p
    received = []
    for n, reply in enumerate(replies):
        for copy in copies:
            copy.i = n
        received.append(task.through("receive", reply.delta(r.w), copies))
    for copy in copies:
        del copy.i  # the index of one client, which now has no meaning
    d = task.through("step", weighted_mean(received, p), copies)
    new = weighted_mean(models, p) + (weighted_mean(raw, p) - d)
    for copy in copies:
        copy.new = new
    return Model(new, mix_buffers(statistics, p))


def _weighed(task: LocalTask, copies: Sequence[Round], given: Tensor) -> Tensor:
    """The mixing weights after the parts' `weigh`; a GPU is waited for if that is users' code."""
    p = task.through("weigh", given, copies)
    own = task.users.acts and p is not given
    if own and abs((total := float(p.sum())) - 1) > 1e-3:  # NaN: the run diverges
        part = type(task.parts[overriding(task.parts, "weigh")[-1]]).__name__
        raise FedbenchError(f"{part}.weigh gave weights of the sum {total:g}; it must be 1")
    return p


def mix_buffers(buffers: Sequence[Buffers], p: Tensor) -> Buffers:
    """Norm buffers averaged with the mixing weights p; of counters the maximum."""
    values = {name: [b[name] for b in buffers] for name in buffers[0]}
    return {
        name: weighted_mean(each, p) if each[0].is_floating_point() else torch.stack(each).amax(0)
        for name, each in values.items()
    }

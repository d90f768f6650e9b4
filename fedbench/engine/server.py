"""The server's side of a round: draws the cohort, and computes the next global model."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from fedbench.base import seeds
from fedbench.base.checks import asked_for
from fedbench.base.errors import FedbenchError, shown
from fedbench.core.flat import Buffers, Model
from fedbench.core.part import Part, overriding, same_shape
from fedbench.core.rng import torch_generator
from fedbench.core.round import Round, State, weighted_mean
from fedbench.engine.local import ClientResult
from fedbench.engine.problem import Problem


def open_round(
    problem: Problem, global_model: Model, t: int, losses: Mapping[int, float] | None = None
) -> Round:
    """Round t with its cohort, mixing weights and learning rate.

    losses: those of the clients' last turns by their numbers, if the sampler asks for them.
    """
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
        counts=counts, p=share / share.sum(), amounts=amounts, dropped=dropped,
        validate=problem.validate, proxy=problem.proxy,
    )  # fmt: skip


def _cohort(problem: Problem, t: int, losses: Mapping[int, float]) -> Counter[int]:
    """The clients of round t, ascending, as Python's own numbers, and how often each was drawn."""
    spec, rule, K = problem.spec, problem.sampler, problem.spec.clients
    draws = partial(seeds.numpy_generator, spec.seed, client=seeds.EVERYONE, purpose="cohort")
    more = asked_for(
        rule, t=lambda: t, always=lambda: draws(seeds.ALWAYS),
        losses=lambda: np.array([losses.get(i, np.nan) for i in range(K)]),
    )  # fmt: skip
    drawn = rule(draws(t), K, spec.participation, problem.label_counts, **more)
    clients = Counter(np.sort(np.asarray(drawn)).tolist())
    known = all(isinstance(i, int) and 0 <= i < K for i in clients)
    if not clients or not known or (not rule.replacement and clients.total() > len(clients)):
        raise FedbenchError(
            f"sampler: {spec.sampler} drew the clients {shown(sorted(clients.elements()))}; it "
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
    drawn = problem.work(clients, spec.most, draws(t), **asked_for(problem.work, **offered))
    given = drawn if isinstance(drawn, tuple) else (drawn, np.ones(m, bool))
    amounts, sent = map(np.asarray, given)
    whole = amounts.shape == (m,) and amounts.dtype.kind in "iu" and (amounts >= 1).all()
    if not whole or sent.shape != (m,) or not sent.any():
        raise FedbenchError(
            f"work: {spec.work} gave {shown(amounts)}, sent {shown(sent)}; it must give each of "
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


def aggregate(
    parts: Sequence[Part], copies: Sequence[Round], r: Round, replies: Sequence[ClientResult]
) -> Model:
    """The next global model x_{t+1} = Σ p_i y_i + (Σ p_i D_i − d), d the parts' global update.

    If no part changes anything, the bracket is exactly 0 and the result is the mean of the
    clients' models, bit for bit (convention 13). `copies` are those of `r`, one per part; their
    fields `models`, `raw`, `statistics`, `ups` and `new` are set here.
    """
    statistics = [reply.buffers for reply in replies]
    if not parts:
        mean = weighted_mean([reply.w for reply in replies], r.p)
        return Model(mean + 0.0, mix_buffers(statistics, r.p))  # the sum makes −0 a 0, as below
    models = torch.stack([reply.w for reply in replies])
    raw, p = r.w - models, r.p
    for i, copy in enumerate(copies):
        copy.models, copy.raw, copy.statistics = models, raw, statistics
        copy.uploads = [reply.upload[i] for reply in replies]
    for i in overriding(parts, "weigh"):
        p = same_shape(parts[i], "weigh", parts[i].weigh(p, copies[i]), p)
    for copy in copies:
        copy.p = p
    received = [_received(parts, copies, n, reply.delta(r.w)) for n, reply in enumerate(replies)]
    for copy in copies:
        vars(copy).pop("i", None)  # the index of one client, which now has no meaning
    d = weighted_mean(received, p)
    for i in overriding(parts, "step"):
        d = same_shape(parts[i], "step", parts[i].step(d, copies[i]), d)
    new = weighted_mean(models, p) + (weighted_mean(raw, p) - d)
    for copy in copies:
        copy.new = new
    return Model(new, mix_buffers(statistics, p))


def _received(parts: Sequence[Part], copies: Sequence[Round], n: int, delta: Tensor) -> Tensor:
    for i in overriding(parts, "receive"):
        copies[i].i = n
        delta = same_shape(parts[i], "receive", parts[i].receive(delta, copies[i]), delta)
    return delta


def mix_buffers(buffers: Sequence[Buffers], p: Tensor) -> Buffers:
    """Norm buffers averaged with the mixing weights p; of counters the maximum."""
    values = {name: [b[name] for b in buffers] for name in buffers[0]}
    return {
        name: weighted_mean(each, p) if each[0].is_floating_point() else torch.stack(each).amax(0)
        for name, each in values.items()
    }

"""Trains a round's cohort: one client after the other, or all of a chunk at once under `vmap`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from fedbench.base.errors import FedbenchError
from fedbench.core.flat import Buffers
from fedbench.core.round import State
from fedbench.engine.local import Feed, Reply, Start, Task, by_func, local_round, own_states
from fedbench.engine.turns import Prepared, dropout


def loop(task: Task, start: Start, clients: Sequence[Prepared]) -> list[Reply]:
    """One client after the other: the fastest on a CPU."""
    return [_alone(task, start, client) for client in clients]


def _alone(task: Task, start: Start, client: Prepared) -> Reply:
    with torch.no_grad(), dropout(task, client):
        return local_round(task, start, client.turns, client.feed, start.world.buffers)


def mapped(task: Task, start: Start, clients: Sequence[Prepared], chunk: int) -> list[Reply]:
    """`chunk` clients at a time under `torch.func.vmap`; unequal clients are padded and masked."""
    replies: list[Reply] = []
    with torch.no_grad():
        for first in range(0, len(clients), chunk):
            replies += _map_chunk(task, start, clients[first : first + chunk])
    return replies


def refuse_unmappable(task: Task, shapes: set[tuple[int, ...]]) -> None:
    """Raise `FedbenchError` with the reason if clients cannot be trained under a map.

    shapes: the batch sizes of each client's turn, all clients of the federation together.
    """
    for part in task.parts:
        if part.unmappable:
            raise FedbenchError(
                f"mode 'map': {type(part).__name__} {part.unmappable}; use mode 'loop'"
            )
    if task.channels_last:
        raise FedbenchError(
            "mode 'map': a map over clients has no memory layout; set channels_last to false"
        )
    if task.net.has_dropout:
        raise FedbenchError(
            "mode 'map': dropout draws other numbers than in a loop over clients; use mode 'loop'"
        )
    if task.net.has_batch_norm and len(shapes) > 1:
        raise FedbenchError(
            "mode 'map': batch norm would count the padding of unequal clients; use mode 'loop'"
        )


def _map_chunk(task: Task, start: Start, clients: Sequence[Prepared]) -> list[Reply]:
    feed = _stack(pad([client.feed for client in clients]))
    states = _stack([[own_states(t) for t in client.turns] for client in clients])
    buffers = _stack([start.world.buffers for _ in clients])
    common = clients[0].turns

    def one(feed: Feed, states: list[dict[str, Any]], buffers: Buffers) -> Reply:
        turns = [
            replace(t, H=feed.H, n=feed.n, labels=feed.labels, drawn=drawn, **own)
            for t, own, drawn in zip(common, states, feed.drawn, strict=True)
        ]
        return local_round(task, start, turns, feed, buffers, by_func)

    together = torch.func.vmap(one, randomness="error")(feed, states, buffers)
    # Copies: a state that is kept must not hold on to the whole chunk's memory.
    return [tree_map(lambda v, i=i: v[i].clone(), together) for i in range(len(clients))]


def pad(feeds: Sequence[Feed]) -> list[Feed]:
    """Equal numbers of steps and of rows a batch; padded rows repeat row 0 under a zero mask.

    Random numbers drawn step by step (H, …) get rows of zeros for the steps that are not made.
    """
    steps = max(len(feed.rows) for feed in feeds)
    width = max(len(rows) for feed in feeds for rows in feed.rows)
    drawn = [_level([feed.drawn[i] for feed in feeds]) for i in range(len(feeds[0].drawn))]
    return [
        replace(_pad(feed, steps, width), drawn=[states[n] for states in drawn])
        for n, feed in enumerate(feeds)
    ]


def _level(states: Sequence[State]) -> list[State]:
    """One part's draws of all clients, each entry as long as the longest."""
    longest = {k: max(state[k].shape[:1] for state in states) for k in states[0]}
    return [{k: _lengthen(v, *longest[k]) for k, v in state.items()} for state in states]


def _lengthen(v: Tensor, length: int = 0) -> Tensor:
    return torch.cat([v, v.new_zeros(length - len(v), *v.shape[1:])]) if v.ndim else v


def _pad(feed: Feed, steps: int, width: int) -> Feed:
    device = feed.rows[0].device
    rows = torch.zeros(steps, width, dtype=torch.long, device=device)
    masks = torch.zeros(steps, width, dtype=feed.n.dtype, device=device)
    for k, found in enumerate(feed.rows):
        rows[k, : len(found)] = found
        masks[k, : len(found)] = 1
    H = torch.tensor(len(feed.rows), dtype=feed.n.dtype, device=device)  # β**H in full precision
    views = _pad_views(feed.views, rows) if feed.views else None
    return replace(feed, rows=list(rows), masks=list(masks), H=H, views=views)


def _pad_views(views: Sequence[Tensor], rows: Tensor) -> list[Tensor]:
    """Padded rows see the upper left corner; the mask hides it."""
    padded = rows.new_zeros(*rows.shape, 3)
    for k, view in enumerate(views):
        padded[k, : len(view)] = view
    return list(padded)


def _stack(trees: Sequence[Any]) -> Any:
    return tree_map(lambda *leaves: torch.stack(leaves), *trees)

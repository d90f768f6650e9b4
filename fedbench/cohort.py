"""Trains a round's cohort: one client after the other, or all of a chunk at once under `vmap`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.utils._pytree import tree_map

from fedbench.errors import FedbenchError
from fedbench.flat import Buffers
from fedbench.local import Feed, Reply, Start, Task, by_func, local_round
from fedbench.part import State, Turn

Client = tuple[list[Turn], Feed]


def loop(task: Task, start: Start, clients: Sequence[Client]) -> list[Reply]:
    """One client after the other: the fastest on a CPU."""
    with torch.no_grad():
        return [
            local_round(task, start, turns, feed, start.world.buffers) for turns, feed in clients
        ]


def mapped(task: Task, start: Start, clients: Sequence[Client], chunk: int) -> list[Reply]:
    """`chunk` clients at a time under `torch.func.vmap`; unequal clients are padded and masked."""
    refuse_unmappable(task, [feed for _, feed in clients])
    replies: list[Reply] = []
    with torch.no_grad():
        for first in range(0, len(clients), chunk):
            replies += _map_chunk(task, start, clients[first : first + chunk])
    return replies


def refuse_unmappable(task: Task, feeds: Sequence[Feed]) -> None:
    """Raise `FedbenchError` with the reason if these clients cannot be trained under a map."""
    for part in task.parts:
        if part.unmappable:
            raise FedbenchError(
                f"mode 'map': {type(part).__name__} {part.unmappable}; use mode 'loop'"
            )
    shapes = {tuple(len(rows) for rows in feed.rows) for feed in feeds}
    if task.net.has_batch_norm and len(shapes) > 1:
        raise FedbenchError(
            "mode 'map': batch norm would count the padding of unequal clients; use mode 'loop'"
        )


def _map_chunk(task: Task, start: Start, clients: Sequence[Client]) -> list[Reply]:
    feed = _stack(pad([feed for _, feed in clients]))
    mine = _stack([[t.mine for t in turns] for turns, _ in clients])
    buffers = _stack([start.world.buffers for _ in clients])
    common = clients[0][0]

    def one(feed: Feed, mine: list[State], buffers: Buffers) -> Reply:
        turns = [
            replace(
                t,
                H=feed.H,
                n=feed.n,
                labels=feed.labels,
                drawn=drawn,
                mine=dict(own),
                up={},
                run={},
            )
            for t, own, drawn in zip(common, mine, feed.drawn, strict=True)
        ]
        return local_round(task, start, turns, feed, buffers, by_func)

    together = torch.func.vmap(one, randomness="different")(feed, mine, buffers)
    return [tree_map(lambda v, i=i: v[i], together) for i in range(len(clients))]


def pad(feeds: Sequence[Feed]) -> list[Feed]:
    """Equal numbers of steps and of rows a batch; padded rows repeat row 0 under a zero mask."""
    steps = max(len(feed.rows) for feed in feeds)
    width = max(len(rows) for feed in feeds for rows in feed.rows)
    return [_pad(feed, steps, width) for feed in feeds]


def _pad(feed: Feed, steps: int, width: int) -> Feed:
    device = feed.rows[0].device
    rows = torch.zeros(steps, width, dtype=torch.long, device=device)
    masks = torch.zeros(steps, width, dtype=feed.n.dtype, device=device)
    for k, found in enumerate(feed.rows):
        rows[k, : len(found)] = found
        masks[k, : len(found)] = 1
    H = torch.tensor(len(feed.rows), dtype=feed.n.dtype, device=device)  # β**H in full precision
    return replace(feed, rows=list(rows), masks=list(masks), H=H)


def _stack(trees: Sequence[Any]) -> Any:
    return tree_map(lambda *leaves: torch.stack(leaves), *trees)

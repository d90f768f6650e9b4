"""Trains several clients of a cohort at once under `vmap`, in place of one by one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from fedbench.base.errors import FedbenchError
from fedbench.core.flat import Buffers
from fedbench.core.round import State
from fedbench.engine.local import (
    ClientBatches,
    ClientResult,
    LocalTask,
    RoundStart,
    by_func,
    local_round,
    part_states,
)
from fedbench.engine.turns import PreparedClient


def mapped(
    task: LocalTask, start: RoundStart, clients: Sequence[PreparedClient], chunk: int
) -> list[ClientResult]:
    """Train `chunk` clients at once under `torch.func.vmap`; unequal ones are padded and masked."""
    replies: list[ClientResult] = []
    with torch.no_grad():
        for first in range(0, len(clients), chunk):
            replies += _map_chunk(task, start, clients[first : first + chunk])
    return replies


def refuse_unmappable(task: LocalTask, shapes: set[tuple[int, ...]]) -> None:
    """Raise `FedbenchError` with the reason if these clients cannot be trained under a map.

    shapes: the different sequences of batch sizes that the federation's clients have in a round.
    """
    for part in task.parts:
        if part.unmappable:
            raise FedbenchError(
                f"mode 'map': {type(part).__name__} {part.unmappable}; use mode 'loop'"
            )
    if task.channels_last:
        raise FedbenchError(
            "mode 'map': clients that are trained together cannot use channels_last; "
            "set channels_last to false, or use mode 'loop'"
        )
    if task.net.has_dropout:
        raise FedbenchError(
            "mode 'map': dropout would draw other random numbers than in mode 'loop'; "
            "use mode 'loop'"
        )
    if task.net.has_batch_norm and len(shapes) > 1:
        raise FedbenchError(
            "mode 'map': clients have different numbers of samples, and batch norm would count the "
            "padding; use mode 'loop'"
        )


def _map_chunk(
    task: LocalTask, start: RoundStart, clients: Sequence[PreparedClient]
) -> list[ClientResult]:
    batches = _stack(pad([client.batches for client in clients]))
    states = _stack([[part_states(t) for t in client.turns] for client in clients])
    buffers = _stack([start.global_model.buffers for _ in clients])
    common = clients[0].turns

    def one(batches: ClientBatches, states: list[dict[str, Any]], buffers: Buffers) -> ClientResult:
        turns = [
            replace(t, H=batches.H, n=batches.n, labels=batches.labels, drawn=drawn, **own)
            for t, own, drawn in zip(common, states, batches.drawn, strict=True)
        ]
        return local_round(task, start, turns, batches, buffers, by_func)

    together = torch.func.vmap(one, randomness="error")(batches, states, buffers)
    # Copied, since a view into the chunk would keep the memory of all its clients.
    return [tree_map(lambda v, i=i: v[i].clone(), together) for i in range(len(clients))]


def pad(all_batches: Sequence[ClientBatches]) -> list[ClientBatches]:
    """The same numbers of steps and of rows per batch for all clients.

    Padded rows repeat row 0 of the training data under a mask of 0. Random numbers that are drawn
    per step (H, …) get rows of zeros for the steps that a client does not make.
    """
    steps = max(len(batches.rows) for batches in all_batches)
    width = max(len(rows) for batches in all_batches for rows in batches.rows)
    drawn = [
        _level([batches.drawn[i] for batches in all_batches])
        for i in range(len(all_batches[0].drawn))
    ]
    return [
        replace(_pad(batches, steps, width), drawn=[states[n] for states in drawn])
        for n, batches in enumerate(all_batches)
    ]


def _level(states: Sequence[State]) -> list[State]:
    """One part's random numbers for all clients, each entry made as long as the longest."""
    longest = {k: max(state[k].shape[:1] for state in states) for k in states[0]}
    return [{k: _lengthen(v, *longest[k]) for k, v in state.items()} for state in states]


def _lengthen(v: Tensor, length: int = 0) -> Tensor:
    return torch.cat([v, v.new_zeros(length - len(v), *v.shape[1:])]) if v.ndim else v


def _pad(batches: ClientBatches, steps: int, width: int) -> ClientBatches:
    device = batches.rows[0].device
    rows = torch.zeros(steps, width, dtype=torch.long, device=device)
    masks = torch.zeros(steps, width, dtype=batches.n.dtype, device=device)
    for k, found in enumerate(batches.rows):
        rows[k, : len(found)] = found
        masks[k, : len(found)] = 1
    H = torch.tensor(
        len(batches.rows), dtype=batches.n.dtype, device=device
    )  # a float, so that β**H has full precision
    views = _pad_views(batches.views, rows) if batches.views else None
    return replace(batches, rows=list(rows), masks=list(masks), H=H, views=views)


def _pad_views(views: Sequence[Tensor], rows: Tensor) -> list[Tensor]:
    """Views of padded rows are all zeros, which the mask hides."""
    padded = rows.new_zeros(*rows.shape, 3)
    for k, view in enumerate(views):
        padded[k, : len(view)] = view
    return list(padded)


def _stack(trees: Sequence[Any]) -> Any:
    return tree_map(lambda *leaves: torch.stack(leaves), *trees)

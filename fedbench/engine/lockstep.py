"""Trains several clients of a small network in step: each operation serves all of them."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from fedbench.core.stacked import StackedNet
from fedbench.engine.local import ClientResult, LocalTask, RoundStart
from fedbench.engine.local_round import StepsInPlace, begun, finished
from fedbench.engine.turns import PreparedClient


def train_in_step(
    task: LocalTask, stacked: StackedNet, start: RoundStart, clients: Sequence[PreparedClient]
) -> list[ClientResult]:
    """Train these clients, those with most steps first; `stacked` is the task's network."""
    with torch.no_grad():
        w = torch.stack([begun(task, start, client.turns) for client in clients])
        steps = _StepsOfSeveral(task, start.lr, stacked, w, {})
        total = w.new_zeros(len(clients))
        for k, batch in enumerate(_batches(task, clients, w.dtype)):
            active = len(batch[2])
            steps.keep(active)
            total[:active] += steps.make(k, batch)
        return [
            finished(task, start, client.turns, own.clone(), {}, loss / len(client.batches.rows))
            for client, own, loss in zip(clients, steps.w, total, strict=True)
        ]


class _StepsOfSeveral(StepsInPlace):
    """The steps of several clients: w is (m, d), and so is each layer's first dimension m."""

    def keep(self, active: int) -> None:
        """Go on with the first `active` clients alone."""
        if active == len(self._layers[0]):
            return
        self._layers = self._net.place(self.w[:active], {})
        self._memory = [{name: v[:active] for name, v in each.items()} for each in self._memory]

    def losses(self, samples: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        """Each sample's loss (m, B), and its share in its client's mean."""
        x, y, shares = samples
        z = self._net.train_placed(x)
        return self._task.loss(z.flatten(0, 1), y).view(shares.shape), shares

    def mean(self, losses: Tensor, shares: Tensor) -> Tensor:
        """Each client's mean loss (m,)."""
        return (losses * shares).sum(1)


def _batches(
    task: LocalTask, clients: Sequence[PreparedClient], dtype: torch.dtype
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Per step: inputs (m, B, …), labels (m·B,) and each sample's share in its client's mean.

    Short batches are filled up with sample 0, which has no share.
    """
    sizes = [[len(rows) for rows in client.batches.rows] for client in clients]
    rows = _padded([client.batches.rows for client in clients])
    seen = [client.batches.views for client in clients if client.batches.views]
    views = _padded(seen) if seen else None
    counts = pad_sequence([torch.tensor(each) for each in sizes], batch_first=True)[..., None]
    shares = (torch.arange(rows.shape[2]) < counts).to(dtype) / counts.clamp(min=1)
    shares = shares.to(rows.device)
    for k in range(len(sizes[0])):
        m = sum(len(each) > k for each in sizes)
        view = None if views is None else views[:m, k].flatten(0, 1)
        x, y = task.inputs(rows[:m, k].flatten(), view)
        yield x.view(m, -1, *x.shape[1:]), y, shares[:m, k]


def _padded(batches: Sequence[Sequence[Tensor]]) -> Tensor:
    """Each client's batches as (m, H, B, …), with zeros behind what is shorter."""
    same = pad_sequence([batch for own in batches for batch in own], batch_first=True)
    by_client = torch.split(same, [len(own) for own in batches])
    return pad_sequence(list(by_client), batch_first=True)

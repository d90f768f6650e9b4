"""Trains several clients side by side, so that each operation of the network serves them all."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import torch
from greenlet import getcurrent, greenlet
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from fedbench.core.flat_network import Buffers, Model, Net
from fedbench.core.stacked_network import StackedNet
from fedbench.engine.local_round import StepsInPlace, begun, by_autograd, finished, local_round
from fedbench.engine.machine import one_thread_per_operation
from fedbench.engine.problem import ClientResult, LocalTask, PreparedClient

Kind = Literal["eval", "train", "gradient"]
_ORDER: tuple[Kind, ...] = ("eval", "train", "gradient")  # a gradient waits for all losses


def train_together(
    task: LocalTask, stacked: StackedNet, clients: Sequence[PreparedClient]
) -> list[ClientResult]:
    """Train these clients side by side in the calling thread; `stacked` is the task's network.

    Each client's local round runs as a coroutine until it needs the network. When all wait there,
    those that wait for the same kind of answer are answered together.
    """
    shared = _SharedNet(task.net, stacked)
    own = replace(task, net=shared)
    gradient = partial(by_autograd, grad=partial(shared.ask, "gradient"))
    job = partial(local_round, own, differentiate=gradient)
    running = [greenlet(job) for _ in clients]
    with torch.no_grad():  # restores the thread's mode, whatever the coroutines left
        try:
            said = [one.switch(client) for one, client in zip(running, clients, strict=True)]
            while waiting := [i for i, one in enumerate(running) if not one.dead]:
                kind = next(k for k in _ORDER if any(said[i][0] == k for i in waiting))
                asked = [i for i in waiting if said[i][0] == kind]
                with torch.set_grad_enabled(kind == "train"):
                    replies = shared.reply(kind, [said[i][1] for i in asked])
                for i, reply in zip(asked, replies, strict=True):
                    said[i] = running[i].switch(reply)
        finally:
            for one in running:  # left alone it would end later, in the code of another run
                if one:
                    one.throw()
    return said


class _SharedNet(Net):
    """A network of which each of several clients may think that it is the only user."""

    def __init__(self, net: Net, stacked: StackedNet) -> None:
        vars(self).update(vars(net))
        self._alone, self._stacked = net, stacked
        self._hub = getcurrent()

    def train(self, w: Tensor, buffers: Buffers, x: Tensor) -> tuple[Tensor, Tensor]:
        logits, features = self.ask("train", Model(w, buffers), x)
        return logits, features

    def eval(self, model: Model, x: Tensor) -> tuple[Tensor, Tensor]:
        logits, features = self.ask("eval", model, x)
        return logits, features

    def ask(self, kind: Kind, *about: Any) -> Any:
        """Wait for this kind of answer."""
        mode = torch.is_grad_enabled()  # the thread's, which other clients change meanwhile
        answer = self._hub.switch((kind, about))
        torch.set_grad_enabled(mode)
        return answer

    def reply(self, kind: Kind, asked: Sequence[Any]) -> list[Any]:
        """What clients get that wait for this kind of answer, from what each of them said."""
        if kind == "gradient":
            values, ws = zip(*asked, strict=True)
            # copies: a view would keep the gradients of all clients in memory
            return [(g.clone(),) for g in torch.autograd.grad(values, ws)]
        models, xs = zip(*asked, strict=True)
        sizes = [len(x) for x in xs]
        if kind == "eval":
            if len({tuple(map(id, (m.w, *m.buffers.values()))) for m in models}) > 1:
                return self._stacked.call("eval", models, xs)
            z, features = self._alone.eval(models[0], torch.cat(xs))
            return list(zip(torch.split(z, sizes), torch.split(features, sizes), strict=True))
        # batch norm would count the zeros that fill up short batches, so these go one by one
        if len(asked) == 1 or (len(set(sizes)) > 1 and self.has_batch_norm):
            return [self._alone.train(m.w, m.buffers, x) for m, x in asked]
        return self._stacked.call("train", models, xs)


def train_in_step(
    task: LocalTask, stacked: StackedNet, clients: Sequence[PreparedClient], size: int | None = None
) -> list[ClientResult]:
    """Train these clients, of whose steps no part sees any, in step.

    Short batches are filled up, so that all clients make all their steps together. With the `size`
    of whole batches, clients have the bits of those that train alone, where `has_bits_of_one`: a
    client is in step for its whole batches, and makes a shorter last one by itself. One with a
    short batch before trains alone.
    """
    whole = [[size in (None, len(rows)) for rows in client.rows] for client in clients]
    order = sorted(range(len(clients)), key=lambda i: -sum(whole[i]))
    order = [i for i in order if any(whole[i]) and all(whole[i][:-1])]
    results = {i: local_round(task, clients[i]) for i in range(len(clients)) if i not in order}
    if together := [clients[i] for i in order]:
        with torch.no_grad():
            starts = torch.stack([begun(task, client).w for client in together])
            steps = _StepsOfSeveral(task, stacked, together, starts, alike=size is not None)
            cut = [_cut(clients[i], sum(whole[i])) for i in order]
            results |= zip(order, steps.finish(_batches(task, cut, steps.w.dtype)), strict=True)
    return [results[i] for i in range(len(clients))]


def has_bits_of_one(task: LocalTask, stacked: StackedNet, batch: int, clients: int) -> bool:
    """Whether a step of so many clients gives each the bits that it has alone.

    That depends on the processor's libraries and on sizes. Inputs are drawn, as sums of images'
    round numbers may agree by luck, and the rate is large, so that weights round no gradient away.
    """
    start, lr = task.net.start(), 2.0**20
    rows = torch.arange(batch, device=task.x.device) % len(task.x)
    some = [PreparedClient(i, start, lr, [], [rows], None, 0) for i in range(clients)]
    x, y = task.inputs(rows, None)
    x = torch.randn(x.shape, generator=torch.Generator().manual_seed(0), dtype=x.dtype).to(x.device)
    with torch.no_grad(), one_thread_per_operation():
        alone = StepsInPlace(task, lr, task.net, start.w.clone(), {})
        loss = alone.make(0, (x, y))
        starts = torch.stack([start.w] * clients)
        steps = _StepsOfSeveral(task, stacked, some, starts, alike=True)
        shares = x.new_full((clients, batch), 1 / batch)
        steps.go_on((torch.stack([x] * clients), y.repeat(clients), shares))
        return bool((steps.w == alone.w).all() and (steps.total == loss).all())


class _StepsOfSeveral(StepsInPlace):
    """The steps of several clients: w is (m, d), and so is each layer's first dimension m.

    `alike`: all batches are whole; then losses are summed as those of one client.
    """

    def __init__(
        self,
        task: LocalTask,
        stacked: StackedNet,
        clients: Sequence[PreparedClient],
        w: Tensor,
        alike: bool,
    ) -> None:
        super().__init__(task, clients[0].lr, stacked, w, {})
        self._alike = alike
        self.total = w.new_zeros(len(clients))  # of each client's losses
        self._clients, self._active, self._k = clients, len(clients), 0

    def finish(self, batches: Iterator[tuple[Tensor, Tensor, Tensor]]) -> list[ClientResult]:
        """Make a step with each of the batches; returns the results of the whole rounds."""
        for batch in batches:
            self.go_on(batch)
        self.leave(0)
        return [
            finished(self._task, client, Model(own.clone(), {}), loss / len(client.rows))
            for client, own, loss in zip(self._clients, self.w, self.total, strict=True)
        ]

    def go_on(self, batch: tuple[Tensor, Tensor, Tensor]) -> None:
        """Make the next step of as many clients as the batch has, the first; the others leave."""
        active = len(batch[2])
        if active < self._active:
            self.leave(active)
            self._active, self._layers = active, self._net.place(self.w[:active], {})
            self._memory = [{name: v[:active] for name, v in each.items()} for each in self._memory]
        self.total[:active] += self.make(self._k, batch)
        self._k += 1

    def leave(self, active: int) -> None:
        """The clients after the first `active` make a shorter last batch, if one is left, alone."""
        for i in range(active, self._active):
            client, k = self._clients[i], self._k
            if k < len(client.rows):
                own = StepsInPlace(self._task, self._lr, self._task.net, self.w[i].clone(), {})
                own._memory = [{name: v[i] for name, v in each.items()} for each in self._memory]
                view = client.views[k] if client.views else None
                self.total[i] += own.make(k, self._task.inputs(client.rows[k], view))
                self.w[i] = own.w

    def losses(self, samples: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        """Each sample's loss (m, B), and its share in its client's mean."""
        x, y, shares = samples
        z = self._net.train_placed(x)
        return self._task.loss(z.flatten(0, 1), y).view(shares.shape), shares

    def mean(self, losses: Tensor, shares: Tensor) -> Tensor:
        """Each client's mean loss (m,)."""
        return losses.mean(1) if self._alike else (losses * shares).sum(1)


def _cut(client: PreparedClient, steps: int) -> PreparedClient:
    """The client with its first batches, for so many steps."""
    return replace(client, rows=client.rows[:steps], views=client.views and client.views[:steps])


def _batches(
    task: LocalTask, clients: Sequence[PreparedClient], dtype: torch.dtype
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Per step inputs (m, B, …), labels (m·B,), shares in a client's mean (m, B): 0 of padding."""
    sizes = [[len(rows) for rows in client.rows] for client in clients]
    rows = _padded([client.rows for client in clients])
    seen = [client.views for client in clients if client.views]
    views = _padded(seen) if seen else None
    counts = pad_sequence([torch.tensor(each) for each in sizes], batch_first=True)[..., None]
    shares = (torch.arange(rows.shape[2]) < counts).to(dtype) / counts.clamp(min=1)
    shares = shares.to(rows.device)
    rows = torch.where(shares > 0, rows, rows[:, :1, :1])  # padding is of the client's own samples
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

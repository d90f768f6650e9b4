"""Trains several clients side by side, so that one evaluation of the network serves them all.

Each client's local round runs as a coroutine, untouched, until it needs the network; there it
waits. When all of them wait, those that wait for the same kind of answer are answered together.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import torch
from greenlet import getcurrent, greenlet
from torch import Tensor

from fedbench.core.flat import Buffers, Model, Net
from fedbench.core.stacked import StackedNet
from fedbench.engine.local import ClientResult, LocalTask, Outputs, RoundStart
from fedbench.engine.local_round import local_round
from fedbench.engine.turns import PreparedClient

Kind = Literal["eval", "train", "gradient"]
_ORDER: tuple[Kind, ...] = ("eval", "train", "gradient")  # a gradient waits for all losses


def train_together(
    task: LocalTask, stacked: StackedNet, start: RoundStart, clients: Sequence[PreparedClient]
) -> list[ClientResult]:
    """Train these clients side by side in the calling thread; `stacked` is the task's network."""
    shared = SharedNet(task.net, stacked)
    own = replace(task, net=shared)

    def job(c: PreparedClient) -> ClientResult:
        with torch.no_grad():
            buffers = start.global_model.buffers
            return local_round(own, start, c.turns, c.batches, buffers, shared.differentiate)

    with torch.no_grad():  # restores the thread's mode, whatever the coroutines left
        return shared.together(job, clients)


class _Question(NamedTuple):
    kind: Kind
    about: tuple[Any, ...]


class SharedNet(Net):
    """A network of which each of several clients may think that it is the only user."""

    def __init__(self, net: Net, stacked: StackedNet) -> None:
        vars(self).update(vars(net))
        self._alone, self._stacked = net, stacked
        self._hub = getcurrent()

    def train(self, w: Tensor, buffers: Buffers, x: Tensor) -> tuple[Tensor, Tensor]:
        """As `Net.train`."""
        answer: tuple[Tensor, Tensor] = self._ask("train", w, buffers, x)
        return answer

    def eval(self, model: Model, x: Tensor) -> tuple[Tensor, Tensor]:
        """As `Net.eval`."""
        answer: tuple[Tensor, Tensor] = self._ask("eval", model, x)
        return answer

    def differentiate(
        self, objective: Callable[[Tensor], tuple[Tensor, Outputs]], w: Tensor
    ) -> tuple[Tensor, Outputs]:
        """The objective's gradient at w, in one backward pass for all that wait for theirs."""
        w = w.detach().requires_grad_()
        with torch.enable_grad():
            value, outputs = objective(w)
        return self._ask("gradient", value, w), outputs

    def together(
        self, job: Callable[[PreparedClient], ClientResult], clients: Sequence[PreparedClient]
    ) -> list[ClientResult]:
        """What `job` returns for each of the clients; all of these calls run side by side."""
        running = [greenlet(job) for _ in clients]
        try:
            said = [one.switch(client) for one, client in zip(running, clients, strict=True)]
            while waiting := [i for i, one in enumerate(running) if not one.dead]:
                for i, words in self._serve(running, {i: said[i] for i in waiting}):
                    said[i] = words
        finally:
            for one in running:  # left alone it would end later, in the code of another run
                if one:
                    one.throw()
        return said

    def _serve(
        self, running: Sequence[greenlet], questions: dict[int, _Question]
    ) -> list[tuple[int, Any]]:
        """Answer one kind of question; returns what those who asked said next."""
        kind = next(k for k in _ORDER if any(q.kind == k for q in questions.values()))
        asked = [i for i, question in questions.items() if question.kind == kind]
        answer = {"train": self._train, "eval": self._eval, "gradient": _gradients}[kind]
        answers = answer([questions[i].about for i in asked])
        return [(i, running[i].switch(reply)) for i, reply in zip(asked, answers, strict=True)]

    def _ask(self, kind: Kind, *about: Any) -> Any:
        mode = torch.is_grad_enabled()  # the thread's, which other clients change meanwhile
        answer = self._hub.switch(_Question(kind, about))
        torch.set_grad_enabled(mode)
        return answer

    def _train(self, asked: Sequence[tuple[Any, ...]]) -> Sequence[tuple[Tensor, Tensor]]:
        """Batch norm would count the zeros that fill up short batches, so these go one by one."""
        unequal = len({len(x) for _, _, x in asked}) > 1
        with torch.enable_grad():
            if len(asked) == 1 or (unequal and self.has_batch_norm):
                return [self._alone.train(*question) for question in asked]
            ws, buffers, xs = zip(*asked, strict=True)
            return self._stacked.train(ws, buffers, xs)

    def _eval(self, asked: Sequence[tuple[Any, ...]]) -> Sequence[tuple[Tensor, Tensor]]:
        models, xs = zip(*asked, strict=True)
        with torch.no_grad():
            if len({_identity(model) for model in models}) > 1:
                return self._stacked.eval(models, xs)
            sizes = [len(x) for x in xs]
            z, features = self._alone.eval(models[0], torch.cat(xs))
        return list(zip(torch.split(z, sizes), torch.split(features, sizes), strict=True))


def _identity(model: Model) -> tuple[int, ...]:
    return tuple(id(value) for value in (model.w, *model.buffers.values()))


def _gradients(asked: Sequence[tuple[Tensor, Tensor]]) -> Sequence[Tensor]:
    """Copies, since a view would keep the gradients of all clients in memory."""
    values, ws = zip(*asked, strict=True)
    return [g.clone() for g in torch.autograd.grad(values, ws)]

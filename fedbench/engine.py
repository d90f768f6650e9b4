"""The only training loop: rounds of sampling, local training, aggregation and evaluation."""

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import pandas as pd
import torch
from torch import Tensor

from fedbench import cohort
from fedbench.clients import ClientStates
from fedbench.errors import FedbenchError
from fedbench.flat import Buffers, Model
from fedbench.local import Reply, Start
from fedbench.machine import Machine
from fedbench.part import Round, State
from fedbench.problem import Objects, Problem, assemble
from fedbench.progress import Progress, Row
from fedbench.record import describe
from fedbench.server import aggregate, open_round, views
from fedbench.spec import RunSpec
from fedbench.store import RunFolder
from fedbench.traffic import model_floats
from fedbench.turns import exchange, prepare, shapes

Watch = Callable[[Row], None]


@dataclass(frozen=True)
class Result:
    """What a run gives back.

    history: one row per evaluated round, fractions not percent; weights: the final global model
    (d,); status: 'finished' or 'diverged' (a result, not a crash).
    """

    spec: RunSpec
    history: pd.DataFrame
    weights: Tensor
    buffers: Buffers
    status: str
    record: dict[str, Any]


def run(
    spec: RunSpec,
    *,
    out: Path | str | None = None,
    data_dir: Path | str | None = None,
    machine: Machine | None = None,
    watch: Watch | None = None,
    searched: RunSpec | None = None,
    **objects: Unpack[Objects],
) -> Result:
    """Train the run that `spec` describes.

    `out`: a folder for its files; a run that was killed there is resumed, a finished one is kept.
    `data`, `model`, `partition`, `parts` and `loss` may be given as objects in place of what the
    spec names. `watch` is called with each evaluated round. `searched`: the spec whose search chose
    these settings and which identifies the run. Raises `FedbenchError` on bad input.
    """
    if spec.tune:
        raise FedbenchError(
            "tune: settings to be searched must be chosen before a run; see `fedbench plan`"
        )
    machine = machine or Machine()
    folder = RunFolder(Path(out)) if out is not None else None
    if folder and objects:
        raise FedbenchError(
            "out: a run of objects has no identity and cannot be stored; leave out unset"
        )
    if folder:
        folder.require_writable()
        if folder.record():
            raise FedbenchError(f"{out}: holds a finished run already; choose another folder")
    problem = assemble(spec, objects, machine, Path(data_dir) if data_dir else None)
    problem = replace(problem, identity=searched or spec)
    return _Engine(problem, machine, folder, watch or (lambda row: None)).run()


class _Engine:
    """Drives one run from its progress so far to its end."""

    def __init__(
        self, problem: Problem, machine: Machine, folder: RunFolder | None, watch: Watch
    ) -> None:
        self.problem, self.machine, self.folder, self.watch = problem, machine, folder, watch
        self.spec, self.fed, self.parts = problem.spec, problem.fed, problem.task.parts
        self.mode = "map" if machine.mode == "map" else "loop"
        if self.mode == "map":
            cohort.refuse_unmappable(problem.task, shapes(problem))
        self.progress = self._resumed() or self._fresh()
        self._saved = time.monotonic()

    def run(self) -> Result:
        """All remaining rounds."""
        while self.progress.round < self.spec.rounds and not self.progress.diverged:
            self._round(self.progress.round)
            self._checkpoint()
        return self._result()

    def _round(self, t: int) -> None:
        progress = self.progress
        r = open_round(self.problem, progress.world, t)
        rounds = views(self.problem, r, progress.server)
        with _clock(self.progress.seconds, "train"):
            replies = self._train(r, rounds)
        with _clock(self.progress.seconds, "server"):
            progress.world = aggregate(self.parts, rounds, r, replies)
        progress.round = t + 1
        loss = float(torch.stack([reply.loss for reply in replies]).mean())
        progress.diverged = not (bool(progress.world.w.isfinite().all()) and math.isfinite(loss))
        due = progress.round % self.spec.eval_every == 0 or progress.round == self.spec.rounds
        if due or progress.diverged:
            with _clock(self.progress.seconds, "evaluate"):
                self._evaluate(r, rounds, loss)
        progress.server = [view.mine for view in rounds]

    def _train(self, r: Round, rounds: Sequence[Round]) -> list[Reply]:
        """Broadcast, extra exchange, local training; keeps client states and counts traffic."""
        progress, size = self.progress, model_floats(self.fed.d, r.buffers)
        messages = [part.send(view) for part, view in zip(self.parts, rounds, strict=True)]
        clients = [prepare(self.problem, r, i, messages, self._kept(i)) for i in r.clients]
        progress.traffic.up += exchange(self.problem, rounds, clients)
        for view in rounds:
            view.steps = r.w.new_tensor([len(c.feed.rows) for c in clients])
        start = Start(Model(r.w, r.buffers), r.lr)
        if self.mode == "map":
            replies = cohort.mapped(self.problem.task, start, clients, self.machine.chunk)
        else:
            replies = cohort.loop(self.problem.task, start, clients)
        for c, reply in zip(clients, replies, strict=True):
            progress.clients[c.client] = reply.mine
            progress.passes += sum(len(rows) for rows in c.feed.rows)
            progress.traffic.broadcast(size, [t.msg for t in c.turns], 1)
            progress.traffic.collect(size, reply.up)
        return replies

    def _kept(self, client: int) -> list[State]:
        """What the client kept from its last turn, or its first state."""
        if client not in self.progress.clients:
            start = self.fed.start.w
            return [part.client(start, self.fed) for part in self.parts]
        return self.progress.clients[client]

    def _evaluate(self, r: Round, rounds: Sequence[Round], train_loss: float) -> None:
        """Score the models that the parts name, x_{t+1} always among them; the first leads."""
        progress = self.progress
        world = progress.world
        models: dict[str, torch.Tensor] = {}
        for part, view in zip(self.parts, rounds, strict=True):
            models |= part.evaluate(world.w, view)
        models.setdefault("next", world.w)
        row: Row = {
            "round": progress.round,
            "eta": r.lr,
            "train_loss": train_loss,
            "cohort": len(r.clients),
        }
        for place, (name, w) in enumerate(models.items()):
            for prefix, scorer in self.problem.scorers.items():
                scores = scorer(Model(w, world.buffers))
                suffix = f"[{name}]" if place else ""
                row |= {f"{prefix}{metric}{suffix}": value for metric, value in scores.items()}
        row |= {"floats_down": progress.traffic.down, "floats_up": progress.traffic.up}
        row |= {f"{phase}_seconds": value for phase, value in progress.seconds.items()}
        progress.rows.append(row)
        self.watch(dict(row))

    def _checkpoint(self) -> None:
        """Save now and then, between rounds."""
        minutes = (time.monotonic() - self._saved) / 60
        if self.folder and minutes >= self.machine.checkpoint_minutes:
            self.folder.save_checkpoint({"id": self.problem.identity.id, **self.progress.state()})
            self._saved = time.monotonic()

    def _fresh(self) -> Progress:
        world = self.fed.start
        server = [part.server(world.w, self.fed) for part in self.parts]
        return Progress(world, server, ClientStates(self.fed.spill))

    def _resumed(self) -> Progress | None:
        if self.folder is None:
            return None
        state = self.folder.load_checkpoint(self.problem.identity.id, self.problem.device)
        try:
            return Progress.of(state, self.fed.spill) if state else None
        except (KeyError, TypeError, AttributeError):
            raise FedbenchError(
                f"{self.folder.path / 'checkpoint.pt'}: damaged checkpoint, or of another version; "
                "delete it to start again"
            ) from None

    def _result(self) -> Result:
        progress = self.progress
        status = "diverged" if progress.diverged else "finished"
        history = pd.DataFrame(progress.rows).astype({"round": int, "cohort": int})
        record = describe(self.problem, status, progress, self.mode)
        tensors = (
            {"w": progress.world.w, **progress.world.buffers} if self.machine.keep_model else {}
        )
        if self.folder:
            self.folder.finish(record, history, tensors)
        return Result(self.spec, history, progress.world.w, progress.world.buffers, status, record)


@contextlib.contextmanager
def _clock(seconds: dict[str, float], phase: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    seconds[phase] += time.perf_counter() - began

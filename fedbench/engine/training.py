"""The training loop: rounds of sampling, local training, aggregation and evaluation."""

import math
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Unpack, cast

import pandas as pd
import torch
from torch import Tensor

from fedbench.base import seeds
from fedbench.base.checks import names_of, require_hooks
from fedbench.base.errors import FedbenchError
from fedbench.base.files import require_writable
from fedbench.base.signals import stoppable
from fedbench.core.flat_network import Model
from fedbench.core.part import require_tensors, returned, unwritten
from fedbench.core.round_data import Round, State
from fedbench.engine import rounds
from fedbench.engine.assemble import assemble
from fedbench.engine.checkpoint import Checkpoints, ClientStates, Progress, Row, floats
from fedbench.engine.given_objects import Objects
from fedbench.engine.machine import Clock, Machine, float32_by_default, one_thread_per_operation
from fedbench.engine.probe import Probe, Scene, checked_sight
from fedbench.engine.problem import ClientResult, PreparedClient, Problem, same_shape
from fedbench.engine.record import Result, describe
from fedbench.engine.workers import Workers
from fedbench.spec import RunSpec
from fedbench.store import RunFolder, locked

Watch = Callable[[Row], None]
_ALONE = threading.RLock()  # generators and the default dtype are those of all threads


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
    """Train the run that `spec` describes; runs in several threads wait for each other.

    `out`: a folder for the run's files. A run that was killed there is resumed; if the folder holds
    a finished run, that is an error. `data_dir`: the folder with data files and published weights.
    `data`, `model`, `partition`, `parts`, `sampler`, `work`, `probes` and `loss` may be given as
    objects in place of what the spec names; they are then part of the run's identity.
    `watch` is called with each evaluated round. `searched`: the spec whose search chose these
    settings, which identifies the run. Raises `FedbenchError` on bad input.

    Ctrl-C and the signals TERM, USR1 and HUP stop the run after its round, with a checkpoint in
    `out`; `Stopped`, a SystemExit, is raised then. A second signal stops at once.
    """
    if spec.tune:
        raise FedbenchError("tune: one run makes no search, only the workflow does; leave tune out")
    machine = machine or Machine()
    folder = RunFolder(Path(out)) if out is not None else None
    if folder:
        require_writable(folder.path)
    with _ALONE, stoppable(), locked(folder) if folder else nullcontext():
        if folder and folder.record():
            raise FedbenchError(f"{out}: holds a finished run already; choose another folder")
        problem = assemble(spec, objects, machine, Path(data_dir) if data_dir else None)
        if searched:
            problem = replace(problem, identity=replace(problem.identity, spec=searched))
        if folder:
            problem.identity.require_known(str(out))
        probes = cast("tuple[Probe, ...] | None", objects.get("probes"))
        return Training(problem, machine, folder, watch, probes).run()


class Training:
    """One run, round by round: call `round` until it is `over`, then `result`; `run` does both.

    `problem`: a spec, or what `fedbench.engine.assemble.assemble(spec, objects, machine, data_dir)`
    makes of one; `folder`: where checkpoints are saved and the run is resumed from; `watch` is
    called with each evaluated round; `probes` are used in place of those that the spec names.
    """

    @float32_by_default()
    def __init__(
        self,
        problem: RunSpec | Problem,
        machine: Machine | None = None,
        folder: RunFolder | None = None,
        watch: Watch | None = None,
        probes: Sequence[Probe] | None = None,
    ) -> None:
        machine = machine or Machine()
        problem = assemble(problem, {}, machine, None) if isinstance(problem, RunSpec) else problem
        self.problem, self.machine, self.folder, self.watch = problem, machine, folder, watch
        named = (probe.build("probe") for probe in problem.spec.watch)
        self.probes: tuple[Probe, ...] = tuple(named if probes is None else probes)
        self.spec, self.fed, self.parts = problem.spec, problem.fed, problem.task.parts
        self.clock = Clock(problem.device)
        self.workers = Workers(problem.task, problem.largest_batch, problem.fed.m)
        self.work = problem.work_per_sample()
        if problem.unused_words:
            warnings.warn(problem.unused_words, stacklevel=2)
        self._require()
        self.checkpoints = Checkpoints(folder, problem, machine.checkpoint_minutes)
        progress = self.checkpoints.load()
        if progress is None:
            start = self.fed.start
            with problem.for_users("start", seeds.ALWAYS):
                server = [returned(x, "server", start.w.clone(), self.fed) for x in self.parts]
            progress = Progress(
                start, server, ClientStates(self.fed.spill),
                memory=[{} for _ in self.probes], tables=[[] for _ in self.probes],
            )  # fmt: skip
        self.progress = progress
        problem.task.users.draws = self.progress.users_draw

    def __repr__(self) -> str:
        done = f"{self.progress.round} of {self.spec.rounds} rounds made"
        return f"Training({self.problem.identity.id}, {done})"

    def _require(self) -> None:
        stop, names = self.spec.stop, [type(probe).__name__ for probe in self.probes]
        if stop and stop.metric != "loss" and not self.fed.classes:
            raise FedbenchError(
                f"stop.metric = '{stop.metric}' needs classes, but data set "
                f"'{self.problem.data.name}' has none; write metric: loss"
            )
        for name, probe in zip(names, self.probes, strict=True):
            if not isinstance(probe, Probe):
                raise FedbenchError(f"probes: {name} is no probe")
            if names.count(name) > 1 or name.lower() in ("clients", "rounds"):
                raise FedbenchError(f"probes: {name} is given twice, or is a table of every run")
            require_hooks(f"probes: {name}", type(probe), Probe)
            probe.require(self.problem)

    @property
    def over(self) -> bool:
        """Whether all rounds have been made, the spec's rule ends the run, or it diverged."""
        progress, stop = self.progress, self.spec.stop
        done = progress.diverged or progress.round >= self.spec.rounds
        return done or bool(stop and stop.ends([row[stop.column] for row in progress.rows]))

    def run(self) -> Result:
        """Make all remaining rounds, and write the run's files if it has a folder."""
        while not self.over:
            self.round()
        return self.result()

    @float32_by_default()
    def round(self) -> None:
        """Make the next round; save a checkpoint if it is due, and stop if a signal says so."""
        t, x = self.progress.round, self.progress.global_model
        with (
            self.problem.for_users("round", t), one_thread_per_operation(),
            unwritten(self.parts, "the global model", [x.w, *x.buffers.values()]),
        ):  # fmt: skip
            self._round(t)
        self.checkpoints.after_round(self.progress, self.over)

    def _round(self, t: int) -> None:
        progress = self.progress
        r = rounds.open_round(self.problem, progress.global_model, t, progress.losses)
        copies = rounds.copies_for_parts(self.problem, r, progress.server)
        with self.clock.phase("train"):
            clients, replies = self._train(r, copies)
        with self.clock.phase("server"):
            progress.global_model = rounds.aggregate(self.problem.task, copies, r, replies)
        progress.round = t + 1
        mean = torch.stack([reply.loss for reply in replies]).mean()
        finite = progress.global_model.w.isfinite().all().to(mean.dtype)
        loss, sound = torch.stack([mean, finite]).tolist()  # together: a GPU is waited for once
        progress.diverged = not (sound and math.isfinite(loss))
        last = progress.round == self.spec.rounds or progress.diverged
        due = last or progress.round % self.spec.eval_every == 0
        row, scored = self._scores(r, copies, loss) if due else ({}, progress.global_model)
        if due:
            progress.diverged |= not math.isfinite(row["loss"])
            progress.rows.append(row)
        if "val_loss" in row:
            score = row.get("val_accuracy", -row["val_loss"])
            if score > progress.best_score:
                progress.best, progress.best_score = {"w": scored.w, **scored.buffers}, score
        scene = Scene(
            problem=self.problem, r=r, clients=clients, replies=replies, new=progress.global_model,
            scored=scored, evaluated=due, last=self.over, stored=self._stored,
        )  # fmt: skip
        row |= {} if progress.diverged else self._watch(scene, {*row, *self._clocks()})
        self.clock.settle(progress.seconds)
        if due and self.watch:
            self.watch(dict(row))
        row |= self._clocks()
        for part, copy in zip(self.parts, copies, strict=True):
            require_tensors(part, copy.state)
        progress.server = [copy.state for copy in copies]

    def _train(
        self, r: Round, copies: Sequence[Round]
    ) -> tuple[list[PreparedClient], list[ClientResult]]:
        """Broadcast, exchange and train; returns the clients as before it, and their results."""
        progress = self.progress
        # of a model: weights and running statistics, without counters
        size = self.fed.d + sum(v.numel() for v in r.buffers.values() if v.is_floating_point())
        messages = [returned(x, "send", copy) for x, copy in zip(self.parts, copies, strict=True)]
        clients = [rounds.prepare(self.problem, r, i, messages, self._stored(i)) for i in r.clients]
        for i, amount in r.dropped.items():  # they trained in vain
            rows = rounds.rows_of_batches(self.problem, r.round, i, amount)
            progress.passes += sum(map(len, rows))
            progress.traffic["down"] += size + floats(messages)
        for copy in copies:
            copy.set_steps([len(c.rows) for c in clients])
        progress.traffic["up"] += rounds.exchange(self.problem, copies, clients)
        before = rounds.snapshot(self.problem.task, clients)
        replies = self.workers.train(clients)
        progress.users_draw = self.problem.task.users.draws
        asks_losses = "losses" in names_of(self.problem.sampler)  # which clients then upload
        for c, reply in zip(clients, replies, strict=True):
            for part, t in zip(self.parts, c.turns, strict=True):
                require_tensors(part, t.msg, t.upload, t.state)
            progress.clients[c.client] = reply.state
            progress.passes += sum(map(len, c.rows))
            progress.traffic["down"] += size + floats(t.msg for t in c.turns)
            progress.traffic["up"] += size + floats(reply.upload) + asks_losses
            if asks_losses:
                progress.losses[c.client] = float(reply.loss)
        return before, replies

    def _stored(self, client: int) -> list[State]:
        """What the parts stored after the client's last turn, or their first states."""
        if client not in self.progress.clients:
            start = self.fed.start.w  # a copy for each, which users' code may change
            return [returned(part, "client", start.clone(), self.fed) for part in self.parts]
        return self.progress.clients[client]

    def _scores(self, r: Round, copies: Sequence[Round], train_loss: float) -> tuple[Row, Model]:
        """A row of the history with the models' scores, and the first, which is the headline."""
        progress, (new, buffers) = self.progress, self.progress.global_model
        models: dict[str, Tensor] = {}
        for part, copy in zip(self.parts, copies, strict=True):
            for name, w in returned(part, "evaluate", new.clone(), copy).items():
                models[name] = same_shape(part, "evaluate", w, new)
        models.setdefault("next", new)
        row: Row = {
            "round": progress.round, "eta": r.lr, "train_loss": train_loss,
            "cohort": len(r.clients), "step_norm": float((new - r.w).norm()),
        }  # fmt: skip
        with self.clock.phase("evaluate"):
            for place, (name, w) in enumerate(models.items()):
                suffix = f"[{name}]" if place else ""
                for prefix, scorer in self.problem.scorers.items():
                    scores = scorer(Model(w, buffers))
                    row |= {f"{prefix}{metric}{suffix}": value for metric, value in scores.items()}
        row |= {
            "floats_down": progress.traffic["down"], "floats_up": progress.traffic["up"],
            "sample_passes": progress.passes, "compute": self.work * progress.passes,
        }  # fmt: skip
        return row, Model(next(iter(models.values())), buffers)

    def _watch(self, scene: Scene, taken: set[str]) -> Row:
        progress, row = self.progress, Row()
        with self.clock.phase("watch"):
            watching = zip(self.probes, progress.memory, progress.tables, strict=True)
            for probe, mine, table in watching:
                shown = scene.copied() if self.problem.task.users.acts else scene
                with self.problem.for_users(type(probe).__name__, scene.r.round):
                    seen = checked_sight(probe, replace(shown, state=mine), taken, table)
                require_tensors(probe, mine)
                table += seen.rows
                row |= seen.columns
        return row

    def _clocks(self) -> Row:
        return {f"{phase}_seconds": value for phase, value in self.progress.seconds.items()}

    def result(self) -> Result:
        """The run's result; writes the run's files if it has a folder."""
        progress = self.progress
        status = "diverged" if progress.diverged else "finished"
        history = pd.DataFrame(progress.rows)
        record = describe(self.problem, status, progress, self.workers)
        w, buffers = progress.global_model
        held = self.problem.label_counts
        i, y = held.nonzero()
        written = {"clients": pd.DataFrame({"client": i, "label": y, "count": held[i, y]})}
        for probe, table in zip(self.probes, progress.tables, strict=True):
            if table:
                written[type(probe).__name__.lower()] = pd.DataFrame(table)
        if self.folder:
            best = {f"best/{name}": value.clone() for name, value in progress.best.items()}
            tensors = {"w": w, **buffers, **best} if self.machine.keep_model else {}
            self.folder.finish(record, history, tensors, written)
        return Result(
            spec=self.spec, history=history, weights=w, buffers=buffers, status=status,
            record=record, tables=written, best=progress.best,
        )  # fmt: skip

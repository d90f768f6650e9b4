"""Shows runs in MLflow: finished ones, in an experiment for each paper and scale; live ones."""

import logging
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import mlflow
from filelock import FileLock
from mlflow.entities import LifecycleStage, Metric, Param, Run
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient
from mlflow.utils import get_results_from_paginated_fn
from sqlalchemy import event
from sqlalchemy.engine import Engine

from fedbench.base.errors import FedbenchError, short
from fedbench.base.files import exists, require_writable
from fedbench.jobs.collect import trained_with
from fedbench.plan.plan import Plan
from fedbench.spec import RunSpec
from fedbench.store import Results, RunFolder
from fedbench.store.flat_settings import setting_columns

RUN = "fedbench.run_id"  # the tag that says which training run an MLflow run shows
_VERSION = "fedbench.record"  # and which training of it, should it have been trained again
_CLOCKS = ("train_seconds", "server_seconds", "evaluate_seconds", "watch_seconds")
_RETRIES, TIMEOUT = "MLFLOW_HTTP_REQUEST_MAX_RETRIES", "MLFLOW_HTTP_REQUEST_TIMEOUT"
PATIENCE = "4"  # seconds in which a server that is opened answers, or is away
_LONGEST = 60  # seconds that the making of a database may take
_PAGE = 1000  # runs that are asked for at a time
LIVE = "fedbench-live"  # the experiment of runs that are followed while they train
_PAUSE = 1.0  # the fewest seconds between two sendings of their rounds
_SHARE = 20  # which take at most a twentieth of the time, however slow the server is

mlflow.set_tracking_uri("")  # never the working folder's default store
logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)  # errors are one sentence


@event.listens_for(Engine, "connect")
def _hasten(connection: object, _: object) -> None:
    """Let SQLite not wait for the disk, six times for each run: a lost copy can be made anew."""
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous=OFF")


def mirror(plan: Plan, results: Path, uri: str | None = None) -> int:
    """Copy every finished run of the plan that is not there; returns how many were added.

    A run that two papers share goes to the experiments of both. One that was trained again is
    copied again and its old copy deleted, as is one that was cut short; MLflow can restore them.
    """
    require_writable(results)
    uri = uri or default_uri(results)
    client = client_of(uri)
    try:
        return sum(_mirror(client, plan, paper, Results(results)) for paper in plan.papers)
    except MlflowException as error:
        raise _unusable(uri, error) from None


def default_uri(results: Path) -> str:
    """MLflow's database in the results folder."""
    return f"sqlite:///{Results(results).database.resolve()}"


def client_of(uri: str) -> MlflowClient:
    """A client of the tracking server or database; MLflow would try one without answer for minutes.

    Later in this process too it tries only twice, unless its own variables say otherwise.
    """
    os.environ.setdefault(_RETRIES, "1")
    patience = os.environ.get(TIMEOUT)
    os.environ.setdefault(TIMEOUT, PATIENCE)
    file = uri.removeprefix("sqlite:///").partition("?")[0]
    try:  # opened first, since a folder or another file in its place is said at once then
        if uri.startswith("sqlite:///") and exists(Path(file)):
            with closing(sqlite3.connect(file)) as database:
                database.execute("PRAGMA schema_version")
        with _alone(file) if uri.startswith("sqlite:///") else nullcontext():
            client = MlflowClient(tracking_uri=uri)  # makes or migrates the database
            client.search_experiments(max_results=1)
    except Exception as error:  # of MLflow, SQLAlchemy, SQLite or requests
        raise _unusable(uri, error) from None
    finally:
        if patience is None:
            del os.environ[TIMEOUT]
    return client


@contextmanager
def _alone(database: str) -> Iterator[None]:
    """Hold a lock beside a database: two processes that make its tables at once damage it."""
    lock = FileLock(f"{database}.lock", timeout=_LONGEST, fallback_to_soft=False)
    # of a file system without locks, a wrong path, a process that holds it and does not go on
    with suppress(OSError, NotImplementedError):  # its Timeout is an OSError
        if database != ":memory:":
            lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _unusable(uri: str, error: Exception) -> FedbenchError:
    said = short(getattr(error.__cause__, "orig", None) or error)  # by the database, if by any
    anew = "the file if it is damaged, to copy all runs anew"
    way_out = f"delete {anew}" if uri.startswith("sqlite:") else "the same command tries again"
    return FedbenchError(f"tracking_uri = {uri!r} cannot be used: {said}; {way_out}")


def experiment_of(client: MlflowClient, name: str) -> str:
    """The id of the experiment of that name, which is made if there is none, or restored."""
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        return client.create_experiment(name)
    if experiment.lifecycle_stage != LifecycleStage.ACTIVE:
        client.restore_experiment(experiment.experiment_id)
        print(f"The experiment '{name}' was deleted in MLflow; it is restored, with its runs.")
    return experiment.experiment_id


def _mirror(client: MlflowClient, plan: Plan, paper: str, results: Results) -> int:
    """Copy what is missing of a paper; delete copies of planned runs that are old or double."""
    tags = _tags(plan, paper)
    found = {run_id: results.run(run_id).version() for run_id in tags}
    versions = {run_id: version for run_id, version in found.items() if version}
    if not versions:
        return 0
    experiment = experiment_of(client, f"fedbench-{plan.scale}-{paper}")
    listed: list[Run] = get_results_from_paginated_fn(  # type: ignore[no-untyped-call]
        lambda most, token: client.search_runs([experiment], max_results=most, page_token=token),
        _PAGE,
    )
    copies = [(run_id, x) for x in listed if (run_id := x.data.tags.get(RUN, "")) in versions]
    current = {  # those that were copied to the end, of runs not trained again since
        run_id: copy
        for run_id, copy in copies
        if copy.info.status == "FINISHED" and copy.data.tags.get(_VERSION) == versions[run_id]
    }
    left = [run_id for run_id in versions if run_id not in current]
    added = [_copy(client, experiment, results.run(each), tags[each]) for each in left]
    for run_id, copy in copies:
        if copy is not current.get(run_id):
            client.delete_run(copy.info.run_id)
        elif not plan.tables:  # a level or a table may be called otherwise by now
            for name, text in tags[run_id].items() - copy.data.tags.items():
                client.set_tag(copy.info.run_id, name, text)
    return sum(added)


def _tags(plan: Plan, paper: str) -> dict[str, dict[str, str]]:
    """By id of runs and trials: name 'FedGKD · AG News · alpha 0.1 · s0', method, role, tables."""
    cells = [cell for cell in plan.cells if cell.paper == paper]
    tables: dict[str, set[str]] = {cell.run_id: set() for cell in cells}
    for key, item in plan.papers[paper].items():
        for cell in plan.select(paper, item.grid, item.where):
            tables[cell.run_id].add(f"{paper}/{key}")
    trials, runs = dict[str, dict[str, str]](), dict[str, dict[str, str]]()
    for cell in reversed(cells):  # a run of several cells is called as the first of them
        axes = sorted(cell.coords.items(), key=lambda item: item[0] != "method")
        levels = [x if isinstance(x, str) else f"{axis} {x}" for axis, x in axes]
        parts = " + ".join(part.name for part in cell.run.parts) or "fedavg"
        method = str(cell.coords.get("method", "")) or parts  # where no axis names it
        runs[cell.run_id] = {
            "mlflow.runName": " · ".join([*levels, f"s{cell.seed}"]),
            **{"method": method, "fedbench.role": "run"},
            "fedbench.tables": ", ".join(sorted(tables[cell.run_id])),
        }
        for n, trial in enumerate(plan.trials_of(cell.run_id), 1):
            name = " · ".join([*levels, f"trial {n}"])
            trials[trial] = {"mlflow.runName": name, "method": method, "fedbench.role": "trial"}
    return trials | runs


def _copy(client: MlflowClient, experiment: str, folder: RunFolder, tags: dict[str, str]) -> bool:
    """Copy a run if it is finished; returns whether it is. MLflow's run is finished last."""
    run_id = folder.path.name
    record = folder.finished(run_id)
    if record is None:
        return False
    own = {RUN: run_id, _VERSION: folder.version() or "", "fedbench.status": record["status"]}
    # records of earlier versions do not say when it ended; their file does
    said, file = record.get("ended"), folder.path / "run.json"
    ended = datetime.fromisoformat(said).timestamp() if said else file.stat().st_mtime
    began = round(1000 * (ended - sum(record["seconds"].values())))  # without pauses
    key = client.create_run(experiment, began, tags | own).info.run_id
    history = folder.history(record)
    passed = history[[name for name in _CLOCKS if name in history]].sum(axis=1)
    rows = zip(history.to_dict("records"), passed, strict=True)
    reached = [x for row, seconds in rows for x in metrics(row, began + round(1000 * seconds))]
    client.log_batch(key, reached, params(trained_with(folder, record)))
    client.set_terminated(key, end_time=round(1000 * ended))
    return True


def metrics(row: Mapping[Any, float], moment: int) -> list[Metric]:
    """A row of a history, at a time in ms since 1970; 'accuracy[two]' is called 'accuracy/two'.

    Other characters that MLflow refuses, as in 'accuracy[ema(0.9)]', become underscores.
    """
    plain = ((name.replace("[", "/").replace("]", ""), value) for name, value in row.items())
    values = {re.sub(r"[^/\w.\- :]", "_", name): float(value) for name, value in plain}
    step = int(values.pop("round"))
    return [Metric(name, value, moment, step) for name, value in values.items()]


def params(spec: RunSpec) -> list[Param]:
    """The settings of a run that are not null or empty: 'lr', 'partition.delta', 'fedprox.mu'."""
    flat = setting_columns(spec.model_dump(mode="json"), lambda choice: choice.name)
    return [Param(name, str(value)) for name, value in flat.items() if value not in (None, "")]


class Live:
    """Follows run after run at a tracking URI; after a failure, which is said, it tries no more."""

    def __init__(self, uri: str, say: Callable[[str], None]) -> None:
        self._uri, self._say, self._lost = uri, say, False

    @contextmanager
    def following(self, spec: RunSpec) -> Iterator[Callable[[Mapping[Any, float]], None]]:
        """A function to be called with each evaluated round of the run."""
        self._try(self._begin, spec)
        status = "KILLED"
        try:
            yield lambda row: self._try(self._send, row)
            status = "FINISHED"
        finally:
            self._try(self._end, status)

    def _try(self, act: Callable[..., None], *args: object) -> None:
        if self._lost:
            return
        try:
            act(*args)
        except Exception as error:  # whatever MLflow raises, the run goes on
            self._lost = True
            why = error if isinstance(error, FedbenchError) else short(error)
            self._say(f"live: {why}; the runs go on without it")

    def _begin(self, spec: RunSpec) -> None:
        """Make the MLflow run of a training run; one that is resumed goes on in the same."""
        self._unsent: list[Any] = []
        self._sent: set[int] = set()  # rounds that it has already, which are trained once more
        self._next = 0.0  # when rounds are sent again
        os.environ.setdefault(TIMEOUT, PATIENCE)
        self._client = client = client_of(self._uri)
        experiment = experiment_of(client, LIVE)
        found = client.search_runs([experiment], f"tags.`{RUN}` = '{spec.id}'", max_results=1)
        self._new = partial(self._create, experiment, spec)
        if found and found[0].info.status != "FINISHED":
            self._key, known = found[0].info.run_id, found[0].data.metrics
            for name in sorted(known, key=lambda name: name != "loss")[:1]:
                self._sent = {each.step for each in client.get_metric_history(self._key, name)}
        else:
            self._key = self._new()
        client.update_run(self._key, status="RUNNING")

    def _create(self, experiment: str, spec: RunSpec) -> str:
        run = self._client.create_run(experiment, run_name=spec.id, tags={RUN: spec.id})
        self._client.log_batch(run.info.run_id, params=params(spec))
        return str(run.info.run_id)

    def _send(self, row: Mapping[Any, float]) -> None:
        if self._sent and row["round"] <= min(self._sent):  # it began from the start again
            self._client.set_terminated(self._key, "KILLED")
            self._key, self._sent = self._new(), set()
        if int(row["round"]) not in self._sent:
            self._unsent += metrics(row, round(1000 * time.time()))
        start = time.monotonic()
        if start >= self._next:
            self._client.log_batch(self._key, metrics=self._unsent)
            self._unsent, end = [], time.monotonic()
            self._next = end + max(_PAUSE, _SHARE * (end - start))

    def _end(self, status: str) -> None:
        self._client.log_batch(self._key, metrics=self._unsent)
        self._client.set_terminated(self._key, status)

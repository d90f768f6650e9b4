"""Copies finished runs into MLflow; a second call adds nothing, and no file is changed."""

import os
import socket
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import mlflow
import pandas as pd
from mlflow.entities import Metric, Param
from mlflow.tracking import MlflowClient
from sqlalchemy import event
from sqlalchemy.engine import Engine

from fedbench.base.errors import FedbenchError
from fedbench.base.files import exists, require_writable
from fedbench.jobs.collect import columns
from fedbench.plan.plan import Plan
from fedbench.spec import RunSpec
from fedbench.store import Results, RunFolder

_SQLITE = b"SQLite format 3\x00"  # what such a file begins with
_MOST = 1000  # metrics that MLflow takes per call
_PATIENCE = 5.0  # seconds in which a server answers, or is away
_CLOCKS = tuple(f"{phase}_seconds" for phase in ("train", "server", "evaluate", "watch"))


def default_uri(results: Path) -> str:
    """MLflow's database in the results folder."""
    return f"sqlite:///{Results(results).database.resolve()}"


def mirror(plan: Plan, results: Path, uri: str | None = None) -> int:
    """Copy every finished run of the plan that is not there yet; returns how many were added.

    One experiment per scale and one MLflow run per training run, with its settings as params, the
    metrics of every evaluated round, and tags for papers, tables and the run's id. Raises
    `FedbenchError` if the results cannot be written, the database cannot be used or a run's files
    were changed.
    """
    require_writable(results)
    uri = uri or default_uri(results)
    client = client_of(uri)
    experiment = experiment_of(client, f"fedbench-{plan.scale}")
    mirrored = _mirrored(client, experiment)
    added = 0
    for run_id, tags in _tags(plan).items():
        folder = Results(results).run(run_id)
        record = None if run_id in mirrored else folder.finished(run_id)
        if record is None:
            continue
        _copy(client, experiment, folder, record, tags)
        added += 1
    return added


def _refuse_no_database(uri: str) -> None:
    """Refuse a folder or another file at once, which MLflow would try to open for minutes."""
    file = Path(uri.removeprefix("sqlite:///").partition("?")[0])
    if not uri.startswith("sqlite:///") or not exists(file):
        return
    if os.path.isdir(file):
        raise FedbenchError(f"{file}: a folder stands where MLflow's database would; move it away")
    with file.open("rb") as stream:
        if stream.read(len(_SQLITE)) not in (b"", _SQLITE):
            raise FedbenchError(f"{file}: no database of MLflow (SQLite); move it away")


def _refuse_no_server(uri: str) -> None:
    """Refuse a server that is away within seconds; MLflow itself would try for minutes."""
    address = urlsplit(uri)
    if address.scheme not in ("http", "https"):
        return
    port = address.port or {"http": 80, "https": 443}[address.scheme]
    try:
        socket.create_connection((address.hostname or "", port), _PATIENCE).close()
    except OSError as error:
        raise FedbenchError(
            f"tracking_uri = {uri!r}: no server answers there ({error}); once it runs, the same "
            "command copies the runs"
        ) from None


@event.listens_for(Engine, "connect")
def _wait_for_no_disk(connection: object, _: object) -> None:
    """SQLite does not wait for the disk after each of a run's six transactions.

    A killed process damages nothing so; after a power cut the copy may have to be made anew.
    """
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous = OFF")


def client_of(uri: str) -> MlflowClient:
    """A client of the tracking server or database; raises `FedbenchError` if it does not answer."""
    _refuse_no_database(uri)
    _refuse_no_server(uri)
    try:
        client = MlflowClient(tracking_uri=uri)
        client.search_experiments(max_results=1)  # makes or migrates the database, alone
    except Exception as error:  # an error of MLflow, SQLAlchemy or requests
        way_out = "; delete the file to copy all runs anew" if uri.startswith("sqlite:") else ""
        raise FedbenchError(f"tracking_uri = {uri!r} cannot be used: {error}{way_out}") from None
    return client


def experiment_of(client: MlflowClient, name: str) -> str:
    """The id of the experiment of that name, which is made if there is none."""
    experiment = client.get_experiment_by_name(name)
    return experiment.experiment_id if experiment else client.create_experiment(name)


def _mirrored(client: MlflowClient, experiment: str) -> set[str]:
    """Ids of the runs that were copied to the end; one that was cut short is copied again."""
    ids: set[str] = set()
    token: str | None = None
    while token != "":
        page = client.search_runs([experiment], "attributes.status = 'FINISHED'", page_token=token)
        ids |= {run.data.tags.get("fedbench.run_id", "") for run in page}
        token = page.token or ""
    return ids


def _tags(plan: Plan) -> dict[str, dict[str, str]]:
    """By run: its papers, its tables and figures, and whether it is a trial of a search."""
    tags = {run_id: {"papers": set[str](), "tables": set[str]()} for run_id in plan.runs}
    for name, paper in plan.papers.items():
        for key, item in paper.items():
            for cell in plan.select(name, item.grid, item.where):
                tags[cell.run_id]["papers"].add(name)
                tags[cell.run_id]["tables"].add(f"{name}/{key}")
    trials = {run_id for ids in plan.trials.values() for run_id in ids}
    return {
        run_id: {f"fedbench.{k}": ", ".join(sorted(v)) for k, v in values.items()}
        | {"fedbench.role": "trial" if run_id in trials else "run"}
        for run_id, values in tags.items()
    }


def _copy(
    client: MlflowClient,
    experiment: str,
    folder: RunFolder,
    record: dict[str, Any],
    tags: dict[str, str],
) -> None:
    began, ended = _span(folder, record)
    labels = tags | {"fedbench.run_id": record["id"], "fedbench.status": record["status"]}
    run = client.create_run(experiment, began, labels, run_name=record["id"])
    settings = columns(RunSpec(**record["resolved"]))
    params = [Param(k, str(v)) for k, v in settings.items() if v is not None]
    metrics = list(_metrics(folder.history(), began))
    client.log_batch(run.info.run_id, metrics[:_MOST], params)
    for first in range(_MOST, len(metrics), _MOST):
        client.log_batch(run.info.run_id, metrics[first : first + _MOST])
    client.set_terminated(run.info.run_id, end_time=ended)


def _span(folder: RunFolder, record: dict[str, Any]) -> tuple[int, int]:
    """When a run began and ended, in milliseconds since 1970.

    It ended when its record was written, and began as many seconds before as it computed: pauses of
    a run that was stopped and resumed are left out.
    """
    ended = folder.ended()
    return _ms(ended - sum(record["seconds"].values())), _ms(ended)


def _metrics(history: pd.DataFrame, began: int) -> Iterable[Metric]:
    """Every number of the history, at the time when its round was reached."""
    clocks = [name for name in _CLOCKS if name in history]
    times = [began + _ms(passed) for passed in history[clocks].sum(axis=1)]
    for row, time in zip(history.to_dict("records"), times, strict=True):
        step = int(row.pop("round"))
        for name, value in row.items():
            yield Metric(metric_name(str(name)), float(value), time, step)


def metric_name(column: str) -> str:
    """A column under a name that MLflow takes: 'accuracy[two]' is 'accuracy/two'."""
    return column.replace("[", "/").replace("]", "")


def _ms(seconds: float) -> int:
    return round(1000 * seconds)


mlflow.set_tracking_uri("")  # never the working folder's default store

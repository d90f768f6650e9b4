"""Mirrors run folders into MLflow; the files stay the truth, and a second call adds nothing."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
from mlflow.entities import Metric, Param, RunTag
from mlflow.tracking import MlflowClient

from fedbench.base.errors import FedbenchError
from fedbench.base.files import exists, require_writable
from fedbench.jobs.collect import columns
from fedbench.plan.plan import Plan
from fedbench.spec import RunSpec
from fedbench.store import Results

_SQLITE = b"SQLite format 3\x00"  # what such a file begins with
_BATCH = 1000  # MLflow's largest number of metrics a call


def default_uri(results: Path) -> str:
    """A local database beside the results."""
    return f"sqlite:///{Results(results).database.resolve()}"


def mirror(plan: Plan, results: Path, uri: str | None = None) -> int:
    """Log every complete run of the plan that is not there yet; returns how many were added.

    One experiment a scale, one MLflow run a training run: settings as params, every evaluated
    round's metrics, tags for papers, tables and the run id.
    """
    require_writable(results)
    uri = uri or default_uri(results)
    _refuse_no_database(uri)
    client = _client(uri)
    experiment = _experiment(client, f"fedbench-{plan.scale}")
    known = _known(client, experiment)
    added = 0
    for run_id, tags in _tags(plan).items():
        folder = Results(results).run(run_id)
        record = None if run_id in known else folder.finished(run_id)
        if record is None:
            continue
        _log(client, experiment, record, folder.history(), tags)
        added += 1
    return added


def _refuse_no_database(uri: str) -> None:
    """Say at once what MLflow would try for minutes: to open a folder, or another file."""
    file = Path(uri.removeprefix("sqlite:///").partition("?")[0])
    if not uri.startswith("sqlite:///") or not exists(file):
        return
    if os.path.isdir(file):
        raise FedbenchError(f"{file}: a folder stands where MLflow's database would; move it away")
    with file.open("rb") as stream:
        if stream.read(len(_SQLITE)) not in (b"", _SQLITE):
            raise FedbenchError(f"{file}: no database of MLflow's (SQLite); move it away")


def _client(uri: str) -> MlflowClient:
    try:
        client = MlflowClient(tracking_uri=uri)
        client.search_experiments(max_results=1)  # makes or migrates the database, alone
    except Exception as error:  # MLflow raises its own, SQLAlchemy's or requests' errors
        raise FedbenchError(f"tracking_uri = {uri!r} cannot be used: {error}") from None
    return client


def _experiment(client: MlflowClient, name: str) -> str:
    found = client.get_experiment_by_name(name)
    return found.experiment_id if found else client.create_experiment(name)


def _known(client: MlflowClient, experiment: str) -> set[str]:
    """Run ids that were mirrored to the end; one cut short is logged again."""
    ids: set[str] = set()
    token: str | None = None
    while token != "":
        page = client.search_runs([experiment], "attributes.status = 'FINISHED'", page_token=token)
        ids |= {run.data.tags.get("fedbench.run_id", "") for run in page}
        token = page.token or ""
    return ids


def _tags(plan: Plan) -> dict[str, dict[str, str]]:
    """Papers and tables or figures of every run; trials are marked as such."""
    tags = {run_id: {"papers": set[str](), "tables": set[str]()} for run_id in plan.runs}
    for name, paper in plan.papers.items():
        for key, item in paper.items():
            for cell in plan.select(name, item.grid, item.where):
                tags[cell.run.id]["papers"].add(name)
                tags[cell.run.id]["tables"].add(f"{name}/{key}")
    trials = {run_id for found in plan.trials.values() for run_id in found}
    return {
        run_id: {f"fedbench.{k}": ", ".join(sorted(v)) for k, v in found.items()}
        | {"fedbench.role": "trial" if run_id in trials else "run"}
        for run_id, found in tags.items()
    }


def _log(
    client: MlflowClient,
    experiment: str,
    record: dict[str, Any],
    history: pd.DataFrame,
    tags: dict[str, str],
) -> None:
    run = client.create_run(experiment, run_name=record["id"])
    settings = columns(RunSpec(**record["resolved"]))
    params = [Param(k, str(v)) for k, v in settings.items() if v is not None]
    labels = tags | {"fedbench.run_id": record["id"], "fedbench.status": record["status"]}
    client.log_batch(run.info.run_id, params=params, tags=[RunTag(k, v) for k, v in labels.items()])
    metrics = list(_metrics(history))
    for first in range(0, len(metrics), _BATCH):
        client.log_batch(run.info.run_id, metrics=metrics[first : first + _BATCH])
    client.set_terminated(run.info.run_id)


def _metrics(history: pd.DataFrame) -> Iterable[Metric]:
    for row in history.to_dict("records"):
        step = int(row.pop("round"))
        for name, value in row.items():
            yield Metric(str(name).replace("[", "/").replace("]", ""), float(value), 0, step)


mlflow.set_tracking_uri("")  # never the working folder's default store

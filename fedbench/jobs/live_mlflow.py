"""Follows runs with MLflow: one MLflow run per training run, in an experiment of their own.

`fedbench track` copies finished runs to another experiment; neither needs the other.
"""

import time
from pathlib import Path

from mlflow.entities import Metric, Param
from mlflow.tracking import MlflowClient

from fedbench.engine.progress import Row
from fedbench.jobs.apart import say
from fedbench.jobs.collect import columns
from fedbench.jobs.live import Open, Tracker
from fedbench.jobs.mlflow_client import client_of, default_uri, experiment_of
from fedbench.jobs.told import RUN, metric_name
from fedbench.spec import RunSpec

EXPERIMENT = "fedbench-live"


def opener(place: str, folder: Path) -> Open:
    """Opens a run at the tracking URI `place`, or in the folder's `mlflow.db`."""
    uri = place or default_uri(folder)

    def opened(spec: RunSpec) -> Tracker:
        return _LiveRun(client_of(uri), spec)

    return opened


class _LiveRun:
    """An MLflow run; a training run that is resumed goes on in the same one."""

    def __init__(self, client: MlflowClient, spec: RunSpec) -> None:
        self._client = client
        experiment = experiment_of(client, EXPERIMENT, say)
        earlier = client.search_runs([experiment], f"tags.`{RUN}` = '{spec.id}'", max_results=1)
        self._run = earlier[0].info.run_id if earlier else self._begun(experiment, spec)
        client.update_run(self._run, status="RUNNING")

    def _begun(self, experiment: str, spec: RunSpec) -> str:
        run = self._client.create_run(experiment, run_name=spec.id, tags={RUN: spec.id})
        params = [Param(key, str(v)) for key, v in columns(spec).items() if v is not None]
        self._client.log_batch(run.info.run_id, params=params)
        return str(run.info.run_id)

    def tell(self, row: Row) -> None:
        now, step = round(1000 * time.time()), int(row["round"])
        values = {name: value for name, value in row.items() if name != "round"}
        metrics = [Metric(metric_name(name), float(v), now, step) for name, v in values.items()]
        self._client.log_batch(self._run, metrics=metrics)

    def close(self) -> None:
        self._client.set_terminated(self._run)

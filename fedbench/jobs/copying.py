"""Copies finished runs into MLflow, in several processes if there are many.

Through MLflow's client a run of ten evaluated rounds takes 30 to 40 ms of a core, of which fedbench
has 4; so a local database is written to without it.
"""

import multiprocessing
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from mlflow.entities import Metric, Param
from mlflow.tracking import MlflowClient

from fedbench.base.errors import FedbenchError
from fedbench.jobs import mlflow_tables
from fedbench.jobs.mlflow_client import client_of
from fedbench.jobs.told import Told, told_of
from fedbench.store import Results

_MOST = 1000  # metrics that MLflow takes per call
_WORTH = 250  # runs that are worth a process, which takes some seconds to start
_AT_ONCE = 20  # runs that a process is handed

Tags = Mapping[str, str]


@dataclass
class Copier:
    """Copies runs from a results folder into an experiment of MLflow."""

    uri: str
    experiment: str
    results: Path

    def copy_all(self, runs: Mapping[str, Tags], workers: int) -> int:
        """Copy those of the runs that are finished, each with its tags; returns how many.

        Raises `FedbenchError` if a run's files were changed, or the system ends a process.
        """
        processes = min(workers, len(runs) // _WORTH)
        if processes < 2:
            return sum(map(self.copy, runs.items()))
        spawn = multiprocessing.get_context("spawn")  # a fork would share the database's connection
        try:
            with ProcessPoolExecutor(processes, spawn, _open, (self,)) as pool:
                return sum(pool.map(_copy, runs.items(), chunksize=_AT_ONCE))
        except BrokenProcessPool:
            raise FedbenchError(
                f"one of {processes} processes that copy runs into MLflow was ended by the system, "
                "perhaps for want of memory; start it again with fewer workers"
            ) from None

    def copy(self, run: tuple[str, Tags]) -> bool:
        """Copy a run if it is finished; returns whether it is."""
        run_id, tags = run
        folder = Results(self.results).run(run_id)
        record = folder.finished(run_id)
        if record is not None:
            self._tell(told_of(folder, record, tags))
        return record is not None

    @cached_property
    def _tell(self) -> Callable[[Told], None]:
        client = client_of(self.uri)
        if mlflow_tables.known(self.uri):
            return mlflow_tables.writer(self.uri, client.get_experiment(self.experiment))
        return partial(through_client, client, self.experiment)


_copier: Copier | None = None  # of a process of the pool


def _open(copier: Copier) -> None:
    global _copier
    _copier = copier


def _copy(run: tuple[str, Tags]) -> bool:
    if _copier is None:
        raise RuntimeError("the process was started without a copier")
    return _copier.copy(run)


def through_client(client: MlflowClient, experiment: str, run: Told) -> None:
    """Tell a server, or any database, of a run; it counts as finished once all is there."""
    key = client.create_run(experiment, run.began, run.tags, run_name=run.name).info.run_id
    params = [Param(name, value) for name, value in run.params.items()]
    metrics = [Metric(*point) for point in run.points]
    client.log_batch(key, metrics[:_MOST], params)
    for first in range(_MOST, len(metrics), _MOST):
        client.log_batch(key, metrics[first : first + _MOST])
    client.set_terminated(key, end_time=run.ended)

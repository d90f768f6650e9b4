"""Copies finished runs into MLflow, in several processes if there are many.

MLflow's own code takes most of the time: 30 to 40 ms of a core per run of ten evaluated rounds.
"""

import multiprocessing
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from mlflow.entities import Metric, Param
from mlflow.tracking import MlflowClient

from fedbench.base.errors import FedbenchError
from fedbench.jobs.collect import columns
from fedbench.jobs.mlflow_client import client_of
from fedbench.spec import RunSpec
from fedbench.store import Results, RunFolder

_MOST = 1000  # metrics that MLflow takes per call
_WORTH = 250  # runs that are worth a process, which takes some seconds to start
_AT_ONCE = 20  # runs that a process is handed
_CLOCKS = tuple(f"{phase}_seconds" for phase in ("train", "server", "evaluate", "watch"))

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
            copy_run(self._client, self.experiment, folder, record, tags)
        return record is not None

    @cached_property
    def _client(self) -> MlflowClient:
        return client_of(self.uri)


_copier: Copier | None = None  # of a process of the pool


def _open(copier: Copier) -> None:
    global _copier
    _copier = copier


def _copy(run: tuple[str, Tags]) -> bool:
    if _copier is None:
        raise RuntimeError("the process was started without a copier")
    return _copier.copy(run)


def copy_run(
    client: MlflowClient,
    experiment: str,
    folder: RunFolder,
    record: dict[str, Any],
    tags: Tags,
) -> None:
    """Copy one run: its settings, its history, and when it began and ended."""
    began, ended = _span(folder, record)
    labels = {**tags} | {"fedbench.run_id": record["id"], "fedbench.status": record["status"]}
    run = client.create_run(experiment, began, labels, run_name=record["id"])
    settings = columns(RunSpec(**record["resolved"]))
    params = [Param(k, str(v)) for k, v in settings.items() if v is not None]
    metrics = list(_metrics(folder.history(record), began))
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

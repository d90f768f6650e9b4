"""Sends the evaluated rounds of runs to MLflow while they train, to an experiment of their own."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from fedbench.base.errors import FedbenchError, require_among, short
from fedbench.engine.checkpoint import Row
from fedbench.engine.training import Watch
from fedbench.spec import RunSpec

EXPERIMENT = "fedbench-live"
_PAUSE = 1.0  # the fewest seconds between two sendings
_SHARE = 20  # they take at most a twentieth of the time, however slow the server is

Follow = Callable[[RunSpec], AbstractContextManager[Watch]]


def nobody(spec: RunSpec) -> AbstractContextManager[Watch]:
    """A `Follow` that sends nothing anywhere."""
    return nullcontext(lambda row: None)


def follower(where: str, folder: Path, say: Callable[[str], None]) -> Follow:
    """What follows runs as `--live` says: nobody if it is empty, else 'mlflow' or 'mlflow=URI'."""
    if not where:
        return nobody
    kind, _, uri = where.partition("=")
    require_among("live", "tracker", kind, ["mlflow"])
    from fedbench.jobs.mlflow import default_uri  # who follows no run must not wait for MLflow

    return Live(uri or default_uri(folder), say).following


class Live:
    """Follows run after run at a tracking URI; after a failure, which is said, it tries no more."""

    def __init__(self, uri: str, say: Callable[[str], None]) -> None:
        self._uri, self._say, self._lost = uri, say, False

    @contextmanager
    def following(self, spec: RunSpec) -> Iterator[Watch]:
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
        from fedbench.jobs.mlflow import PATIENCE, RUN, TIMEOUT, client_of, experiment_of, params

        self._unsent: list[Any] = []
        self._next = 0.0  # when rounds are sent again
        os.environ.setdefault(TIMEOUT, PATIENCE)
        self._client = client = client_of(self._uri)
        experiment = experiment_of(client, EXPERIMENT)
        found = client.search_runs([experiment], f"tags.`{RUN}` = '{spec.id}'", max_results=1)
        if found:
            self._key = found[0].info.run_id
        else:
            run = client.create_run(experiment, run_name=spec.id, tags={RUN: spec.id})
            self._key = run.info.run_id
            client.log_batch(self._key, params=params(spec))
        client.update_run(self._key, status="RUNNING")

    def _send(self, row: Row) -> None:
        from fedbench.jobs.mlflow import metrics

        self._unsent += metrics(row, round(1000 * time.time()))
        start = time.monotonic()
        if start >= self._next:
            self._client.log_batch(self._key, metrics=self._unsent)
            self._unsent, end = [], time.monotonic()
            self._next = end + max(_PAUSE, _SHARE * (end - start))

    def _end(self, status: str) -> None:
        self._client.log_batch(self._key, metrics=self._unsent)
        self._client.set_terminated(self._key, status)

"""Reads and writes runs in the tables of a local MLflow database, in a tenth of its client's time.

The client makes about fifty statements of a run, most of which read again what it has just written.
Here a run is one transaction of five. A test compares what comes of both. MLflow's tables belong to
MLflow: where they are not the ones that this module knows, runs go through the client.
"""

import math
import sys
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mlflow.entities import Experiment
from mlflow.store.tracking.dbmodels.models import (
    SqlLatestMetric,
    SqlMetric,
    SqlParam,
    SqlRun,
    SqlTag,
)
from mlflow.utils.validation import MAX_PARAM_VAL_LENGTH
from sqlalchemy import create_engine, insert, select
from sqlalchemy.exc import DatabaseError, OperationalError

from fedbench.base.errors import FedbenchError
from fedbench.jobs.mlflow_client import unusable
from fedbench.jobs.told import RUN, VERSION, Copy, Point, Told

_PATIENCE = 60  # seconds for which a process waits while another writes
_KEYED = {"run_uuid", "key", "value"}
_METRIC = _KEYED | {"timestamp", "step", "is_nan"}
_RUN = {
    *("run_uuid", "experiment_id", "name", "user_id", "artifact_uri", "lifecycle_stage", "status"),
    *("source_type", "source_name", "source_version", "entry_point_name"),
    *("start_time", "end_time", "deleted_time"),
}
_COLUMNS: dict[type[Any], set[str]] = {
    **{SqlRun: _RUN, SqlParam: _KEYED, SqlTag: _KEYED},
    **{SqlMetric: _METRIC, SqlLatestMetric: _METRIC},
}
_LARGEST = sys.float_info.max  # what MLflow writes for infinity, which SQL has not
Row = dict[str, Any]


def known(uri: str) -> bool:
    """Whether it is a local database whose tables have the columns that are written here."""
    there = {table: {each.name for each in table.__table__.columns} for table in _COLUMNS}
    return uri.startswith("sqlite:///") and there == _COLUMNS


def copies(uri: str, experiment: str) -> list[Copy]:
    """The finished runs of the experiment that MLflow shows.

    Raises `FedbenchError` if the database is damaged.
    """
    shown = (SqlRun.experiment_id == int(experiment), SqlRun.lifecycle_stage == "active")
    tags = select(SqlTag.run_uuid, SqlTag.key, SqlTag.value).join(SqlRun)
    tags = tags.where(*shown, SqlRun.status == "FINISHED", SqlTag.key.in_((RUN, VERSION)))
    found: dict[str, dict[str, str]] = {}
    try:
        with create_engine(uri).connect() as connection:
            for key, name, value in connection.execute(tags):
                found.setdefault(key, {})[name] = value
    except DatabaseError as error:
        raise _unusable(uri, error) from None
    return [Copy(key, tag.get(RUN, ""), tag.get(VERSION, "")) for key, tag in found.items()]


def writer(uri: str, experiment: Experiment) -> Callable[[Told], None]:
    """What writes a run into the experiment: all of it, or nothing if the process is killed.

    It raises `FedbenchError` if the database is damaged, the disk is full, or another process
    writes for a minute.
    """
    engine = create_engine(uri, connect_args={"timeout": _PATIENCE})

    def write(run: Told) -> None:
        try:
            with engine.begin() as connection:
                for table, rows in _rows(run, experiment).items():
                    if rows:
                        connection.execute(insert(table), rows)
        except DatabaseError as error:
            raise _unusable(uri, error) from None

    return write


def _unusable(uri: str, error: DatabaseError) -> FedbenchError:
    refused = isinstance(error, OperationalError)
    return unusable(uri, error.orig or error, damaged=not refused)


def _rows(run: Told, experiment: Experiment) -> Mapping[type[Any], list[Row]]:
    key = uuid.uuid4().hex
    latest = {point.name: point for point in sorted(run.points, key=lambda point: point.step)}
    return {
        SqlRun: [_run(key, run, experiment)],
        SqlParam: _keyed(key, {k: v[:MAX_PARAM_VAL_LENGTH] for k, v in run.params.items()}),
        SqlTag: _keyed(key, {**run.tags, "mlflow.runName": run.name}),
        SqlMetric: _metrics(key, run.points),
        SqlLatestMetric: _metrics(key, latest.values()),
    }


def _run(key: str, run: Told, experiment: Experiment) -> Row:
    return {
        **{"run_uuid": key, "experiment_id": int(experiment.experiment_id), "name": run.name},
        **{"user_id": "unknown", "lifecycle_stage": "active", "status": "FINISHED"},
        "artifact_uri": f"{experiment.artifact_location.rstrip('/')}/{key}/artifacts",
        **{"source_type": "UNKNOWN", "source_name": "", "source_version": ""},
        **{"entry_point_name": "", "start_time": run.began, "end_time": run.ended},
    }


def _keyed(key: str, values: Mapping[str, str]) -> list[Row]:
    return [{"run_uuid": key, "key": name, "value": value} for name, value in values.items()]


def _metrics(key: str, points: Iterable[Point]) -> list[Row]:
    return [
        {
            **{"run_uuid": key, "key": point.name, "timestamp": point.time, "step": point.step},
            **{"value": _number(point.value), "is_nan": math.isnan(point.value)},
        }
        for point in points
    ]


def _number(value: float) -> float:
    return 0.0 if math.isnan(value) else max(-_LARGEST, min(_LARGEST, value))

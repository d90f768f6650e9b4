"""What MLflow is told of a finished run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import pandas as pd

from fedbench.jobs.collect import columns, trained_with
from fedbench.store import RunFolder

RUN = "fedbench.run_id"  # the tag that says which training run an MLflow run shows
VERSION = "fedbench.record"  # and of which training of it, should it have been trained again
_CLOCKS = tuple(f"{phase}_seconds" for phase in ("train", "server", "evaluate", "watch"))


class Copy(NamedTuple):
    """A run of MLflow, the training run that it shows, and of which training."""

    key: str
    run: str
    version: str


class Point(NamedTuple):
    """A number of the history, and the time in milliseconds when its round was reached."""

    name: str
    value: float
    time: int
    step: int


@dataclass(frozen=True)
class Told:
    """A run's settings, its history, and when it began and ended, in milliseconds since 1970."""

    name: str
    began: int
    ended: int
    tags: dict[str, str]
    params: dict[str, str]
    points: list[Point]


def told_of(folder: RunFolder, record: dict[str, Any], tags: Mapping[str, str]) -> Told:
    """What MLflow is told of the run, with the tags that are given and three of its own."""
    began, ended = _span(folder, record)
    settings = columns(trained_with(folder, record))
    return Told(
        name=record["id"],
        began=began,
        ended=ended,
        tags={**tags, **_own_tags(folder, record)},
        params={name: str(value) for name, value in settings.items() if value is not None},
        points=list(_points(folder.history(record), began)),
    )


def _own_tags(folder: RunFolder, record: Mapping[str, Any]) -> dict[str, str]:
    return {RUN: record["id"], VERSION: folder.version() or "", "fedbench.status": record["status"]}


def metric_name(column: str) -> str:
    """A column under a name that MLflow takes: 'accuracy[two]' is 'accuracy/two'."""
    return column.replace("[", "/").replace("]", "")


def _span(folder: RunFolder, record: dict[str, Any]) -> tuple[int, int]:
    """When a run began and ended.

    It began as many seconds before it ended as it computed: pauses of a run that was stopped and
    resumed are left out. Records of earlier versions do not say when it ended; their file does.
    """
    said = record.get("ended")
    ended = datetime.fromisoformat(said).timestamp() if said else folder.ended()
    return _ms(ended - sum(record["seconds"].values())), _ms(ended)


def _points(history: pd.DataFrame, began: int) -> Iterator[Point]:
    clocks = [name for name in _CLOCKS if name in history]
    times = [began + _ms(passed) for passed in history[clocks].sum(axis=1)]
    for row, time in zip(history.to_dict("records"), times, strict=True):
        step = int(row.pop("round"))
        for name, value in row.items():
            yield Point(metric_name(str(name)), float(value), time, step)


def _ms(seconds: float) -> int:
    return round(1000 * seconds)

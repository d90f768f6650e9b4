"""Trains finished runs again and compares: the same bits, or on another build nearly the same."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedbench.engine.machine import Machine
from fedbench.engine.record import Result
from fedbench.engine.training import run
from fedbench.plan.data_checks import complete
from fedbench.plan.search import resolved
from fedbench.spec import RunSpec
from fedbench.store import RunFolder

# The fields of a record that say what it was computed with
_BUILD = ("versions", "device", "machine", "processor")
_CODE = "versions.fedbench"  # a change of fedbench's own code must not move a number


@dataclass(frozen=True)
class Again:
    """A run that was trained a second time, beside the first."""

    run_id: str
    difference: float  # the largest over all numbers, as |a - b| / max(1, |a|), seconds left out
    where: str  # the place of that difference
    build: str  # how the packages or the processor differ, '' if they do not
    accuracies: tuple[float, ...] = ()  # of the last round, before and now, if the run has any

    def holds(self, tolerance: float) -> bool:
        """Whether the bits are the same; on another build, whether the tolerance is kept."""
        return self.difference <= (tolerance if self.build else 0.0)

    def words(self) -> str:
        """The comparison in one line."""
        said = f"differs by up to {self.difference:.3g} ({self.where})" if self.where else "same"
        last = " and ".join(f"{each:.4g}" for each in self.accuracies)
        accuracy = f"; accuracy {last}" if self.difference and last else ""
        return f"{self.run_id}: {said}{accuracy}{f'; other {self.build}' if self.build else ''}"


def train_again(
    spec: RunSpec, results: Path, machine: Machine, data_dir: Path | None = None
) -> Again:
    """Train a finished run again, without writing anything, and compare all that it wrote."""
    folder, record = complete(spec.id, results)
    again = run(resolved(spec, results), machine=machine, data_dir=data_dir, searched=spec)
    difference, where = max(_differences(folder, record, again), key=lambda found: found[0])
    rounds = (folder.history(record), again.history)
    last = tuple(float(each["accuracy"].iloc[-1]) for each in rounds if "accuracy" in each)
    builds = ({k: v for k, v in each.items() if k in _BUILD} for each in (record, again.record))
    before, now = (dict(pd.json_normalize(build).iloc[0]) for build in builds)
    other = [
        f"{name} {before[name]} → {now[name]}"
        for name in before.keys() & now.keys() - {_CODE}  # such as 'versions.torch'
        if before[name] != now[name]
    ]
    return Again(spec.id, difference, where, ", ".join(other), last)


def _differences(
    folder: RunFolder, record: Mapping[str, Any], again: Result
) -> Iterator[tuple[float, str]]:
    yield 0.0, ""
    tables = {"rounds": again.history, **again.tables}
    names = {Path(file).stem for file in record["files"] if file.endswith(".parquet")}
    for name in names ^ tables.keys():
        yield np.inf, f"only one has the table '{name}'"
    for name in sorted(names & tables.keys()):
        for difference, where in _of_frames(folder.table(name), tables[name]):
            yield difference, f"{name}: {where}"


def _of_frames(first: pd.DataFrame, second: pd.DataFrame) -> Iterator[tuple[float, str]]:
    """The differences of two tables, by column, where there are any."""
    if list(first) != list(second) or len(first) != len(second):
        yield np.inf, f"{first.shape} rows and columns, now {second.shape}"
        return
    for name in [name for name in first if not str(name).endswith("_seconds")]:
        before, now = first[name], second[name]
        if all(map(pd.api.types.is_numeric_dtype, (before, now))):
            a, b = before.to_numpy(np.float64), now.to_numpy(np.float64)
            with np.errstate(invalid="ignore"):
                apart = np.abs(a - b) / np.maximum(1.0, np.abs(a))
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            apart = np.where(same, 0.0, np.nan_to_num(apart, nan=np.inf))
        else:
            apart = np.where(before.to_numpy() == now.to_numpy(), 0.0, np.inf)
        if apart.any():
            row = int(apart.argmax())
            said = f"{name} {before.iloc[row]}, now {now.iloc[row]}, row {row}"
            yield float(apart[row]), said

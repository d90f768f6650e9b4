"""The record and the tables of a run for its folder, and the result that `run` returns."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
from torch import Tensor

from fedbench.base.errors import FedbenchError
from fedbench.core.flat import Buffers
from fedbench.engine.probe import Probe
from fedbench.engine.problem import Problem
from fedbench.engine.progress import Progress
from fedbench.engine.provenance import code, device_name, machine, processor, versions
from fedbench.engine.workers import Workers
from fedbench.spec import RunSpec
from fedbench.store import RunFolder


def describe(problem: Problem, status: str, progress: Progress, workers: Workers) -> dict[str, Any]:
    """The content of `run.json`: settings, outcome, versions, device, times, origin of data.

    `ended` is the present moment, to the second, in UTC.
    """
    spec, objects = problem.spec, dict(problem.identity.objects)
    plugins = {name: dict(entry.sha256) for name, entry in problem.identity.spec.plugins().items()}
    return {
        "id": problem.identity.id,
        "status": status,
        "rounds": progress.round,
        "settings": problem.identity.settings(),
        "resolved": spec.model_dump(mode="json") | objects,
        **({"objects": sorted(objects)} if objects else {}),
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": {phase: round(value, 3) for phase, value in progress.seconds.items()},
        "sample_passes": progress.passes,
        "floats": {"down": progress.traffic.down, "up": progress.traffic.up},
        "device": device_name(problem.device),
        **workers.described,
        "machine": machine(),
        "processor": processor(),
        "code": dict(code()),
        "versions": dict(versions()),
        "data": {
            "name": problem.data.name,
            **problem.data.origin,
            "checksum": problem.data.checksum,
        },
        **({"plugins": plugins} if plugins else {}),
        "parameters": problem.fed.d,
        "samples": [len(rows) for rows in problem.rows],
        "unused": problem.unused._asdict() | {"words": problem.unused_words},
    }


@dataclass(frozen=True, kw_only=True, repr=False)
class Result:
    """The result of a run.

    history: one row per evaluated round, scores as fractions; weights: the final global model (d,),
    None if it was loaded from a folder that does not hold it; buffers: the running statistics of
    its norm layers; status: 'finished', or 'diverged' if the weights became infinite or NaN;
    record: the content of `run.json`; tables: 'clients' (client, label, count), and one for each
    probe that wrote rows, under the probe's name; best: with held-out data the model of the first
    round that was best on these: its weights `w` and its buffers.

        result = Result.load("results/runs/digits-mlp-iid-fedavg-s0-…")
        print(result.accuracy)
        axes = result.plot()
    """

    spec: RunSpec
    history: pd.DataFrame
    weights: Tensor | None
    buffers: Buffers
    status: str
    record: dict[str, Any]
    tables: dict[str, pd.DataFrame]
    best: dict[str, Tensor] = field(default_factory=dict)

    @classmethod
    def load(cls, folder: Path | str) -> "Result":
        """The result of the finished run whose files lie in `folder`, as in results/runs/<id>.

        Raises `FedbenchError` if there is none, or if a file is not as the run wrote it.
        """
        files = RunFolder(Path(folder))
        if (record := files.record()) is None:
            raise FedbenchError(f"{folder}: no finished run; a folder in results/runs holds one")
        names = {Path(name).stem for name in record["files"] if name.endswith(".parquet")}
        stored = files.tensors(record)
        best = {k: v for k, v in stored.items() if k.startswith("best/")}
        tensors = {k: v for k, v in stored.items() if k not in best}
        given, resolved = record.get("objects", ()), record["resolved"]
        return cls(
            spec=RunSpec(**{k: v for k, v in resolved.items() if k not in given}),
            history=files.history(record),
            weights=tensors.pop("w", None),
            buffers=tensors,
            status=record["status"],
            record=record,
            best={name.removeprefix("best/"): value for name, value in best.items()},
            tables={name: files.table(name, record) for name in sorted(names - {"rounds"})},
        )

    @property
    def accuracy(self) -> float:
        """The accuracy on the test set after the last round, from 0 to 1."""
        if "accuracy" not in self.history:
            raise FedbenchError(f"{self.record['id']} has no accuracy: it predicts numbers")
        return float(self.history["accuracy"].iloc[-1])

    def plot(self, metric: str = "accuracy", **options: Any) -> Any:
        """A column of the history over the rounds, as matplotlib axes; `options` are pandas'.

        With `ax=axes` several runs share one picture; `label` names each.
        """
        return self.history.plot(x="round", y=metric, **options)

    def __repr__(self) -> str:
        """One line: which run, how it ended, and its last scores."""
        scores = ("accuracy", "loss")
        last = [f"{s} {self.history[s].iloc[-1]:.4g}" for s in scores if s in self.history]
        rounds = f"{self.status} after {self.record['rounds']} rounds"
        return f"Result({', '.join([self.record['id'], rounds, *last])})"


def tables(
    problem: Problem, probes: Sequence[Probe], progress: Progress
) -> dict[str, pd.DataFrame]:
    """The table of the clients' label counts, and one per probe that wrote rows."""
    held = problem.label_counts
    clients, labels = held.nonzero()
    counts = {"client": clients, "label": labels, "count": held[clients, labels]}
    rows = zip(probes, progress.tables, strict=True)
    return {"clients": pd.DataFrame(counts)} | {
        type(probe).__name__.lower(): pd.DataFrame(table) for probe, table in rows if table
    }

"""The record and the tables of a run for its folder, and the result that `run` returns."""

import platform
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from fedbench import __version__
from fedbench.base.errors import FedbenchError
from fedbench.core.flat_network import Buffers
from fedbench.engine.checkpoint import Progress
from fedbench.engine.problem import Problem
from fedbench.engine.workers import Workers
from fedbench.spec import RunSpec
from fedbench.store import RunFolder

_PACKAGES = (
    *("numpy", "scipy", "scikit-learn", "torchvision", "timm"),
    *("transformers", "tokenizers", "curvlinops-for-pytorch", "pandas", "pyarrow"),
)
_PACKAGE = Path(__file__).parents[1]


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
        best = {k[5:]: stored.pop(k) for k in list(stored) if k.startswith("best/")}
        given, resolved = record.get("objects", ()), record["resolved"]
        return cls(
            spec=RunSpec(**{k: v for k, v in resolved.items() if k not in given}),
            history=files.history(record), weights=stored.pop("w", None), buffers=stored,
            status=record["status"], record=record, best=best,
            tables={name: files.table(name, record) for name in sorted(names - {"rounds"})},
        )  # fmt: skip

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


def describe(problem: Problem, status: str, progress: Progress, workers: Workers) -> dict[str, Any]:
    """The content of `run.json`: settings, outcome, versions, device, times, origin of data."""
    spec, objects = problem.spec, dict(problem.identity.objects)
    plugins = {name: dict(entry.sha256) for name, entry in problem.identity.spec.plugins().items()}
    data, on_gpu = problem.data, problem.device.type == "cuda"
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
        "floats": dict(progress.traffic),
        "device": torch.cuda.get_device_name(problem.device) if on_gpu else "cpu",
        **workers.described,
        # the kind of CPU and the instructions that PyTorch uses on it, which decide the last bits
        "machine": f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}",
        "processor": processor(),
        "code": dict(_code()),
        "versions": dict(versions()),
        "data": {"name": data.name, **data.origin, "checksum": data.checksum},
        **({"plugins": plugins} if plugins else {}),
        "parameters": problem.fed.d,
        "samples": [len(rows) for rows in problem.rows],
        "unused": problem.unused._asdict() | {"words": problem.unused_words},
    }


@cache
def processor() -> str:
    """The CPU's name as the system says it."""
    with suppress(OSError):  # not Linux
        for line in Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


@cache
def versions() -> Mapping[str, str]:
    """Of Python, of PyTorch's build, and of the packages that may change a number."""
    packages = {}
    for name in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):  # of an extra that was not installed
            packages[name] = metadata.version(name)
    own = {"torch": str(torch.__version__), "python": platform.python_version()}
    return {"fedbench": __version__} | packages | own


@cache
def _code() -> Mapping[str, Any]:
    """In a checkout its git commit, and whether files of the package differ; else nothing."""
    commit = _git("rev-parse", "HEAD")  # perhaps of somebody's repository, with the package inside
    if commit is None or _git("ls-files", "--error-unmatch", "__init__.py") is None:
        return {}
    return {"commit": commit, "dirty": bool(_git("status", "--porcelain", "--", "."))}


def _git(*words: str) -> str | None:
    """What git says in the package's folder; None if it refuses, or is not there."""
    command = ["git", "-C", str(_PACKAGE), *words]
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)  # noqa: S603
        return done.stdout.strip()
    return None

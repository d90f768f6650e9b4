"""Checks that finished runs may be compared: complete, unchanged, trained on the same data."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fedbench.base.errors import FedbenchError
from fedbench.spec import RunSpec
from fedbench.store import RunFolder

Record = dict[str, Any]


def complete(run_id: str, results: Path) -> tuple[RunFolder, Record]:
    """A run's folder and record; raises `FedbenchError` if it is not complete or was changed."""
    folder = RunFolder(results / "runs" / run_id)
    record = folder.finished(run_id)
    if record is None:
        raise FedbenchError(f"{folder.path}: this run is not complete; train it first")
    return folder, record


def one_version(runs: Iterable[tuple[RunSpec, Record]]) -> None:
    """Raise `FedbenchError` if a data set was not the same for all runs that name it."""
    groups: dict[str, list[tuple[str, Record]]] = {}
    for run, record in runs:
        groups.setdefault(str(run.dataset), []).append((run.id, record.get("data", {})))
    for dataset, found in groups.items():
        by_version = _versions(found)
        if len(by_version) > 1:
            said = " and ".join(f"{version[:12]} ({_few(ids)})" for version, ids in by_version)
            raise FedbenchError(
                f"data set '{dataset}' was not the same for all runs, by its checksums: {said}; "
                "put the right data in place and delete the folders of the runs trained on others, "
                "to train them again"
            )


def _versions(runs: list[tuple[str, Record]]) -> list[tuple[str, list[str]]]:
    """Runs by the checksum of their data, the most frequent first.

    Runs of earlier versions have checksums of files only; the others are then compared by these.
    """
    everywhere = all("checksum" in data for _, data in runs)
    found: dict[str, list[str]] = {}
    for run_id, data in runs:
        found.setdefault(data["checksum"] if everywhere else _of_files(data), []).append(run_id)
    return sorted(found.items(), key=lambda item: -len(item[1]))


def _of_files(data: Record) -> str:
    return " ".join(value for key, value in data.items() if key.startswith("sha256"))


def _few(ids: list[str]) -> str:
    """The first three, and how many more."""
    return ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")

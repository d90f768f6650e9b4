"""Checks that finished runs may be compared: complete, unchanged, trained on the same data."""

from collections.abc import Iterable, Iterator
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
    """Raise `FedbenchError` if a data set, or a file of its, was not the same for all runs.

    Data sets are compared where name and parameters agree; where parameters differ, as of one that
    reads a development file in addition, the files that both have read are.
    """
    sets: dict[str, list[tuple[str, Record]]] = {}
    files: dict[str, dict[str, list[str]]] = {}
    for run, record in runs:
        data = record.get("data", {})
        sets.setdefault(str(run.dataset), []).append((run.id, data))
        for file, checksum in _files(data):
            files.setdefault(file, {}).setdefault(checksum, []).append(run.id)
    for dataset, found in sets.items():
        _refuse_several(f"data set '{dataset}'", _versions(found))
    for file, by_checksum in files.items():
        _refuse_several(f"data file {file}", by_checksum)


def _files(data: Record) -> Iterator[tuple[str, str]]:
    """Each file that the data were read from, and its sha256."""
    for key, checksum in data.items():
        if "file" in data and key.startswith("sha256"):
            yield str(Path(data["file"]) / key.removeprefix("sha256").strip()), checksum


def _refuse_several(what: str, versions: dict[str, list[str]]) -> None:
    if len(versions) > 1:
        often_first = sorted(versions.items(), key=lambda item: -len(item[1]))
        said = " and ".join(f"{version[:12]} ({_few(ids)})" for version, ids in often_first)
        raise FedbenchError(
            f"{what} was not the same for all runs, by its checksums: {said}; put the right data "
            "in place and delete the folders of the runs trained on others, to train them again"
        )


def _versions(runs: list[tuple[str, Record]]) -> dict[str, list[str]]:
    """Runs by the checksum of their data.

    Runs of earlier versions have checksums of files only; the others are then compared by these.
    """
    everywhere = all("checksum" in data for _, data in runs)
    found: dict[str, list[str]] = {}
    for run_id, data in runs:
        found.setdefault(data["checksum"] if everywhere else _of_files(data), []).append(run_id)
    return found


def _of_files(data: Record) -> str:
    return " ".join(value for key, value in data.items() if key.startswith("sha256"))


def _few(ids: list[str]) -> str:
    """The first three, and how many more."""
    return ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")

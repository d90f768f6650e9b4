"""The data sets of a plan, and the check that finished runs were trained on the same data."""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from fedbench.base import registry
from fedbench.base.checksums import digest
from fedbench.base.errors import FedbenchError
from fedbench.base.grouping import grouped
from fedbench.spec import Choice, RunSpec
from fedbench.store import Results, RunFolder, Status, read_facts, state

Record = dict[str, Any]  # the content of a run.json

_USUAL = (10_000, 2_000)  # samples of a data set whose size is not known
_AGAIN = "delete the folders of the runs trained on other data, to train them again"


def data_key(choice: Choice, code: Sequence[str] | None = None) -> str:
    """A data set's name, with a hash of its parameters, if any, as in 'file-0123456789ab'.

    code: checksums of the files of a user's own data set, by default of those that are there now:
    other code may give other data.
    """
    if code is None:
        entry = registry.entries("dataset").get(choice.name)
        code = entry.code if entry else ()
    told = [choice.params, *code] if code else choice.params
    return f"{choice.name}-{digest(told)}" if told else choice.name


def samples(choice: Choice, folder: Path | None = None) -> tuple[int, int]:
    """Training and test samples as declared, else as read from `folder`; without one, a guess."""
    try:
        return _samples(choice.name, json.dumps(choice.params), folder)
    except FedbenchError:  # without a folder, the job that plans says what is wrong
        if folder is not None:
            raise
        return _USUAL


@cache
def _samples(name: str, params: str, folder: Path | None) -> tuple[int, int]:
    source = registry.build("dataset", name, json.loads(params))
    declared: tuple[int, int] | None = source.samples()
    if declared or folder is None:
        return declared or _USUAL
    dataset = source.load(folder)
    return len(dataset.y_train), len(dataset.y_test)


def files(choice: Choice, folder: Path) -> tuple[Path, ...]:
    """The user's files that a data set is read from, if they exist; loading names a missing one."""
    source = registry.build("dataset", choice.name, choice.params)
    return tuple(file for file in source.files(folder) if file.exists())


def complete(run_id: str, results: Path) -> tuple[RunFolder, Record]:
    """A run's folder and record; raises `FedbenchError` if it is not complete or was changed."""
    folder = Results(results).run(run_id)
    record = folder.finished(run_id)
    if record is None:
        raise FedbenchError(f"{folder.path}: not complete; the same command of Snakemake trains it")
    return folder, record


def has_failed(run_id: str, results: Path) -> bool:
    """Whether training the run ended in an error."""
    folder = Results(results).run(run_id)
    return not folder.has_record() and state(folder).status is Status.failed


def same_data(runs: Iterable[tuple[RunSpec, Record]], results: Path) -> None:
    """Raise `FedbenchError` if data differ between runs, whatever their parameters, or changed."""
    told = list(runs)
    files: dict[str, dict[str, list[str]]] = {}
    readers: dict[str, dict[str, set[str]]] = {}  # of each file, the versions of each data set
    for run, record in told:
        for file, checksum in _files(run.dataset, record["data"]):
            files.setdefault(file, {}).setdefault(checksum, []).append(record["id"])
            readers.setdefault(file, {}).setdefault(str(run.dataset), set()).add(checksum)
    for dataset, members in grouped(told, lambda each: str(each[0].dataset)).items():
        versions = grouped((x for _, x in members), lambda record: str(record["data"]["checksum"]))
        several = {k: [record["id"] for record in of] for k, of in versions.items()}
        _refuse_several(f"data set '{dataset}'", several, results)
        _refuse_replaced(*members[0], results)
    for file, by_checksum in files.items():
        if not set.intersection(*readers[file].values()):
            _refuse_several(f"data file {file}", by_checksum, results)


def _files(dataset: Choice, data: Record) -> Iterator[tuple[str, str]]:
    """Each file, by data set and path there (restored records have no folders), and its sha256."""
    for key, checksum in data.items():
        if "file" in data and key.startswith("sha256"):
            name = key.removeprefix("sha256").strip() or Path(data["file"]).name
            yield f"{dataset.name}/{dataset.params.get('path') or name}", checksum


def _refuse_several(what: str, versions: dict[str, list[str]], results: Path) -> None:
    """Refuse several versions; a run that alone differs from others, as if damaged, is named."""
    if len(versions) < 2:
        return
    often_first = sorted(versions.items(), key=lambda item: -len(item[1]))
    said = []
    for version, ids in often_first:
        more = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
        said.append(f"{version[:12]} ({', '.join(ids[:3])}{more})")
    odd = [run_id for _, ids in often_first[1:] for run_id in ids]
    again = _AGAIN
    if len(often_first[0][1]) > 1 and len(odd) == 1:
        again = f"delete the folder {Results(results).run(odd[0]).path} to train the run again"
    raise FedbenchError(
        f"{what} was not the same for all runs, by its checksums: {' and '.join(said)}; "
        f"put the right data in place and {again}"
    )


def _refuse_replaced(run: RunSpec, record: Record, results: Path) -> None:
    """Refuse a run trained on other data than those loaded last."""
    file = Results(results).data(data_key(run.dataset))
    loaded = read_facts(file).get("checksum")
    trained = record["data"]["checksum"]
    if loaded and loaded != trained:
        raise FedbenchError(
            f"{file}: data set '{run.dataset}' has been replaced, as its checksum is now "
            f"{str(loaded)[:12]} and was {trained[:12]} for run {run.id}; delete it when the "
            f"former data are back, or {_AGAIN}"
        )

"""Where everything below a results folder lies, and what is known there of the data of runs."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

from fedbench.base.checksums import digest
from fedbench.base.errors import FedbenchError, failing
from fedbench.base.files import exists, matching, read_json, write_json
from fedbench.store.run import RunFolder

_Record = dict[str, Any]
_OWN_CHECKSUM = "facts"  # the field of a data set's facts that holds theirs


@dataclass(frozen=True)
class Results:
    """The paths below the folder `root`; what is of one scale lies in a folder of its name."""

    root: Path

    @cached_property
    def runs(self) -> Path:
        """The folder that holds one folder per run."""
        return self.root / "runs"

    def run(self, run_id: str) -> RunFolder:
        """The folder of a run."""
        return RunFolder(self.runs / run_id)

    def finished(self, run_ids: Iterable[str]) -> set[str]:
        """Those of the runs that were trained to their end; refuses a record that was changed."""
        return {run_id for run_id in run_ids if self.run(run_id).record() is not None}

    def records(self) -> list[Path]:
        """The records of all runs that were trained to their end, sorted."""
        return matching(self.runs, "*/run.json")

    def stamp(self, run_id: str) -> Path:
        """The empty file that Snakemake writes when the job that trained the run succeeded."""
        return self.runs.joinpath(run_id, ".done")

    def data(self, key: str) -> Path:
        """The facts of a data set: its size, where it came from, its checksum."""
        return self.root / "data" / f"{key}.json"

    def facts(self) -> list[Path]:
        """The facts of all data sets, sorted."""
        return matching(self.root / "data", "*.json")

    def winner(self, search: str) -> Path:
        """The settings that a search chose."""
        return self.root / "searches" / f"{search}.json"

    @property
    def database(self) -> Path:
        """MLflow's database, where no other is asked for."""
        return self.root / "mlflow.db"

    def plan(self, scale: str, fingerprint: str) -> Path:
        """The plan of a scale that has this fingerprint, which all later steps read."""
        return self.root / scale / f"plan-{fingerprint}.json"

    def plans(self, scale: str) -> list[Path]:
        """The plans of a scale that are there, sorted: the workflow leaves one."""
        return matching(self.root / scale, "plan-*.json")

    def frame(self, scale: str, paper: str) -> Path:
        """The histories of a paper's runs in one frame."""
        return self.root / scale / f"{paper}.parquet"


def write_facts(file: Path, facts: Mapping[str, Any]) -> None:
    """Write the facts of a data set with a checksum of them, beside that of its arrays."""
    write_json(file, {**facts, _OWN_CHECKSUM: digest(facts)})


def read_facts(file: Path) -> dict[str, Any]:
    """The facts of a data set; empty without the file; refuses one that was changed by hand."""
    remedy = "delete it, and the same command of Snakemake loads the data again"
    with failing(f"{file}: does not describe a data set", remedy, (FedbenchError,)):
        facts = read_json(file) if exists(file) else {}
        written = facts.pop(_OWN_CHECKSUM, None)  # earlier versions wrote none
        if written not in (None, digest(facts)):
            raise FedbenchError("it was changed, by its checksum")
    return facts


def without_folders(origin: Mapping[str, Any]) -> dict[str, Any]:
    """Where data came from, with the bare name of their file or folder in place of its path."""
    bare = {"file": PurePath(origin["file"]).name} if origin.get("file") else {}
    return {**origin, **bare}


def origins(results: Results, records: Iterable[_Record]) -> Callable[[_Record], _Record]:
    """What adds to a run's record all that is known of its data, without folders of this machine.

    The facts of a data set and any of the records with equal arrays may say it; the first that
    tells something is believed. Raises `FedbenchError` for facts that are not JSON.
    """
    facts = [read_facts(file) for file in results.facts()]
    told = [fact.get("origin", {}) | {"checksum": fact.get("checksum", "")} for fact in facts]
    known: dict[str, _Record] = {}
    for data in [*told, *(record.get("data", {}) for record in records)]:
        if data.get("checksum"):
            of_arrays = {key: text for key, text in without_folders(data).items() if key != "name"}
            known[data["checksum"]] = of_arrays | known.get(data["checksum"], {})

    def told_of(record: _Record) -> _Record:
        data = without_folders(record.get("data", {}))
        return record | {"data": data | known.get(data.get("checksum", ""), {})}

    return told_of

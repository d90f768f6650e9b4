"""The files in which finished runs are published, `<table>-<day>-<digest of the export>.parquet`.

| table | has a row for each |
|---|---|
| runs | run: its outcome, its settings as flat columns, and its record as JSON |
| rounds | run and evaluated round |
| probes | row of any other table of a run, `clients` or that of a probe, which `probe` names |
| searches | search: what it chose, and all of it as JSON |
| data | data set: its size and checksum, and all facts of it as JSON |
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from fedbench.base.checksums import digest
from fedbench.base.errors import FedbenchError, failing
from fedbench.base.files import exists, matching
from fedbench.base.plugins import project
from fedbench.store import parquet_frames
from fedbench.store.flat_settings import is_outdated, setting_columns
from fedbench.store.run import Json

Role = tuple[str, bool]  # of a run in its paper: its method, and whether it only is a trial

TABLES = ("runs", "rounds", "probes", "searches", "data")
PUBLISHED = Path("results/published")
AGAIN = "take another copy of it"  # what to do about a damaged file

_NAME = re.compile(r"runs-\d{4}-\d\d-\d\d-([0-9a-f]{12})\.parquet")
_FORMAT = {"fedbench.format": "2"}  # raised by a change that makes older versions misread a file
_LAST = ("accuracy", "loss", "macro_f1", "val_accuracy")  # `accuracy_final` is the last round's
_FACTS = ("train", "test", "classes", "checksum")
_CLOCK = "_seconds"  # the ending of columns that a clock fills
# Fields of the record that are the same on any machine and at any time
_OUTCOME = ("id", "status", "rounds", "resolved", "sample_passes", "floats", "samples")


@dataclass(frozen=True)
class PublishedRun:
    """A finished run as it travels."""

    record: Json  # its `run.json`, but for the checksums
    tables: Mapping[str, pa.Table]  # 'rounds' and all others by name
    files: Mapping[str, str] = field(default_factory=dict)  # sha256 of the Parquet files it wrote

    @cached_property
    def checksum(self) -> str:
        """12 digits that follow from the record and all values of the tables."""
        return digest({"record": self.record, "tables": _checksums(self.tables)})

    def same_numbers(self, other: "PublishedRun") -> bool:
        """Whether two trainings of a run differ in nothing but seconds, dates and machines."""
        return self.checksum == other.checksum or self._numbers == other._numbers

    @property
    def _numbers(self) -> Json:
        timeless = {
            name: table.select([c for c in table.column_names if not c.endswith(_CLOCK)])
            for name, table in self.tables.items()
        }
        outcome = {name: self.record.get(name) for name in _OUTCOME}
        data = self.record["data"]["checksum"]
        return {"outcome": digest(outcome), "data": data, "tables": _checksums(timeless)}


@dataclass(frozen=True)
class Published:
    """Runs by id, winners of searches by the search's id, facts of data sets by their key."""

    runs: Mapping[str, PublishedRun] = field(default_factory=dict)
    searches: Mapping[str, Json] = field(default_factory=dict)
    data: Mapping[str, Json] = field(default_factory=dict)

    @property
    def names(self) -> set[str]:
        """The names of all its things."""
        return {*self.runs, *self.searches, *self.data}

    def only(self, keep: Callable[[str], bool]) -> "Published":
        """Its things whose names are kept."""
        things = vars(self).items()
        return Published(**{name: {k: x for k, x in of.items() if keep(k)} for name, of in things})


def published(table: str = "runs", folder: Path | str | None = None) -> pd.DataFrame:
    """A table of all published runs, joined over papers and days.

    table: 'runs', 'rounds', 'probes', 'searches' or 'data', or a table within probes, such as
    'clients', whose columns alone then are there. folder: that of the papers' folders, by default
    `results/published` here, or else in the project that fedbench is imported from.

    Tables are joined by `run_id`. Runs have one more column than their files: `outdated` says which
    no plan asks for any more, since they have other numbers by now, or another id. Raises
    `FedbenchError` if there is no such table.

        runs = fedbench.published("runs").query("not trial and not outdated")
        runs.groupby(["paper", "dataset", "method"])["accuracy_final"].mean()
    """
    usual = next(filter(Path.is_dir, (PUBLISHED, project() / PUBLISHED)), PUBLISHED)
    place = Path(folder or usual)
    kind = table if table in TABLES else "probes"
    files = [file for paper in matching(place, "*/") for file in matching(paper, f"{kind}-*")]
    tables, seen = list[pa.Table](), set[str]()
    for read in map(_read, files):
        if kind in ("rounds", "probes"):  # of a run that two papers share, once
            ids = set(read["run_id"].unique().to_pylist())
            new = pa.array(sorted(ids - seen), read["run_id"].type)
            read, seen = read.filter(pc.is_in(read["run_id"], new)), seen | ids
        tables.append(read)
    frame = parquet_frames.in_pandas(parquet_frames.stacked(tables))
    if kind != table and not frame.empty:
        frame = frame[frame["probe"] == table].drop(columns="probe").dropna(axis=1, how="all")
    if frame.empty:
        names = ", ".join(TABLES)
        raise FedbenchError(f"{place}: no table '{table}' is published; tables: {names}")
    if table == "runs":
        settings = [json.loads(record)["settings"] for record in frame["record"]]
        frame.insert(4, "outdated", [is_outdated(each) for each in settings])
    return frame.reset_index(drop=True)


def write_published(
    content: Published, folder: Path, day: str, roles: Mapping[str, Role]
) -> list[Path]:
    """Write the files of an export, runs last; without a role a run's method is its parts."""
    facts = {
        "searches": parquet_frames.from_rows(
            {
                **{"search": key, "trials": len(told.get("trials", ()))},
                **{f"chosen.{name}": value for name, value in told.get("chosen", {}).items()},
                "record": _json(told),
            }
            for key, told in content.searches.items()
        ),
        "data": parquet_frames.from_rows(
            {"data": key, **{name: told.get(name) for name in _FACTS}, "record": _json(told)}
            for key, told in content.data.items()
        ),
        "runs": parquet_frames.from_rows(
            _of_run(folder.name, key, run, roles.get(key)) for key, run in content.runs.items()
        ),
    }
    stamp, written = f"{day}-{_digest(facts)}", []
    for name, table in (_histories(content.runs) | facts).items():
        if len(table) or name == "runs":
            written.append(folder / f"{name}-{stamp}.parquet")
            parquet_frames.write_small(table, written[-1], _FORMAT)
    return written


def _digest(facts: Mapping[str, pa.Table]) -> str:
    """That of an export: the rows of runs have the checksums of all other tables."""
    return digest(_checksums({name: table for name, table in facts.items() if len(table)}))


def _histories(runs: Mapping[str, PublishedRun]) -> dict[str, pa.Table]:
    """The tables `rounds` and `probes`, whose first columns say whose row it is."""
    rounds: list[pa.Table] = []
    probes: list[pa.Table] = []
    for key, run in runs.items():
        for name, table in run.tables.items():
            owner = {"run_id": key} if name == "rounds" else {"run_id": key, "probe": name}
            with_owner = parquet_frames.with_columns(table, **owner)
            (rounds if name == "rounds" else probes).append(with_owner)
    return {"rounds": parquet_frames.stacked(rounds), "probes": parquet_frames.stacked(probes)}


def _of_run(paper: str, key: str, run: PublishedRun, role: Role | None) -> dict[str, Any]:
    record, settings = run.record, setting_columns(run.record["resolved"])
    method, trial = role or (settings.get("parts") or "fedavg", False)
    rounds = run.tables["rounds"]
    last = rounds.slice(len(rounds) - 1).to_pylist()[0] if len(rounds) else {}
    if not math.isfinite(last.get("loss") or 0.0):  # earlier runs scored such outputs as class 0
        last |= {"accuracy": 0.0, "macro_f1": 0.0}
    columns = {
        name: {each.name: str(each.type) for each in table.schema}
        for name, table in run.tables.items()
    }
    return {
        **{"run_id": key, "paper": paper, "method": method, "trial": trial},
        **{name: settings.get(name) for name in ("dataset", "model", "partition", "seed")},
        **{"status": record["status"], "rounds_trained": record["rounds"]},
        **{f"{name}_final": last.get(name) for name in _LAST},
        "seconds": sum(record["seconds"].values()),
        **{f"floats.{way}": number for way, number in record.get("floats", {}).items()},
        **{name: record.get(name) for name in ("sample_passes", "parameters", "ended", "device")},
        **settings,
        **{"record": _json(record), "tables": _json(columns), "files": _json(run.files)},
        "checksum": run.checksum,
    }


def read_published(file: Path) -> Published:
    """An export, by its table of runs; raises `FedbenchError` unless all of it is as written."""
    name = _NAME.fullmatch(file.name)
    if name is None:
        raise FedbenchError(
            f"{file}: is no file `runs-<day>-<digest>.parquet` that `fedbench export` wrote; one "
            "of fedbench 0.1 is restored with that version, and exported again with this one"
        )
    files = {each: file.with_name(each + file.name.removeprefix("runs")) for each in TABLES}
    tables = {each: _read(x) if exists(x) else pa.table({}) for each, x in files.items()}
    if _digest({each: tables[each] for each in ("searches", "data", "runs")}) != name[1]:
        raise FedbenchError(f"{file}: is not what was written, or what lies beside it; {AGAIN}")
    with failing(f"{file}: cannot be read", AGAIN):
        rounds = _grouped(tables["rounds"], "run_id")
        probes = _grouped(tables["probes"], "run_id", "probe")
        runs = {}
        for row in tables["runs"].to_pylist():
            key, found = row["run_id"], {}
            for each, columns in json.loads(row["tables"]).items():
                part = rounds.get(key) if each == "rounds" else probes.get((key, each))
                schema = pa.schema([(c, pa.type_for_alias(kind)) for c, kind in columns.items()])
                there = schema.empty_table() if part is None else part
                found[each] = there.select([*columns]).cast(schema)
            runs[key] = PublishedRun(json.loads(row["record"]), found, json.loads(row["files"]))
            if runs[key].checksum != row["checksum"]:
                named = sorted({"rounds" if name == "rounds" else "probes" for name in found})
                lost = [files[each].name for each in named if not exists(files[each])]
                said = f"{' and '.join(lost)} is missing beside it" if lost else ""
                raise ValueError(said or f"run {key} is not as it was written")
        searches = {x["search"]: json.loads(x["record"]) for x in tables["searches"].to_pylist()}
        data = {x["data"]: json.loads(x["record"]) for x in tables["data"].to_pylist()}
        return Published(runs, searches, data)


def run_ids(file: Path) -> set[str]:
    """The ids of the runs of an export, by its table of runs."""
    table = _read(file)
    return {*table["run_id"].to_pylist()} if len(table) else set()  # it may have searches alone


def _read(file: Path) -> pa.Table:
    with failing(f"{file}: cannot be read", AGAIN):
        table = parquet_frames.read_arrow(file.read_bytes())
        table.validate(full=True)  # text in UTF-8
    if (table.schema.metadata or {}).get(b"fedbench.format") != b"2":
        raise FedbenchError(f"{file}: written by another version of fedbench; use that one")
    return table


def _grouped(table: pa.Table, *keys: str) -> dict[Any, pa.Table]:
    if not len(table):
        return {}
    by = [*keys] if keys[1:] else keys[0]
    groups = parquet_frames.in_pandas(table.select(keys)).groupby(by, sort=False).indices
    plain = table.replace_schema_metadata(None)
    return {key: plain.slice(rows[0], len(rows)) for key, rows in groups.items()}


def _checksums(tables: Mapping[str, pa.Table]) -> dict[str, str]:
    return {name: parquet_frames.table_checksum(table) for name, table in tables.items()}


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))

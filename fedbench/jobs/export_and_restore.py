"""Publishes finished runs as tables that travel, and turns such tables back into runs."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from fedbench.base.checks import checked, require_name
from fedbench.base.checksums import canonical, digest
from fedbench.base.errors import FedbenchError, at
from fedbench.base.files import exists, matching, read_json, write_json
from fedbench.plan.data_checks import data_key
from fedbench.plan.plan import Plan
from fedbench.plan.search import RECORDS, signed
from fedbench.spec import NUMERICS, Choice
from fedbench.store import Results, RunFolder, Status, failure_file, state
from fedbench.store.flat_settings import is_outdated
from fedbench.store.published import (
    AGAIN,
    Published,
    PublishedRun,
    Role,
    read_published,
    run_ids,
    write_published,
)
from fedbench.store.results_folder import read_facts, without_folders, write_facts
from fedbench.store.run import CHECKSUM, DONE, is_as_written, require_record

_WEIGHTS = "model.safetensors"  # which are not published
_OTHER_DATA = "runs trained on different data cannot be compared: use another results folder"
# What is published, by the field of `Published`: one of it in words, and when two are the same
_SAME: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "runs": ("run", PublishedRun.same_numbers),
    # versions differ in how they spell a number: 10 and 10.0
    "searches": ("search", lambda one, other: canonical(dict(one)) == canonical(dict(other))),
    "data": ("data set", lambda one, other: one["checksum"] == other["checksum"]),
}


@dataclass(frozen=True)
class Exported:
    """What is published of a paper."""

    folder: Path
    files: tuple[Path, ...]  # those written now
    new: int  # runs in them
    planned: int
    held: int  # planned runs that are published
    missing: tuple[str, ...]  # ids of planned runs that are not published
    others: int  # runs that are not planned
    unknown: tuple[str, ...]  # data sets without facts, which a rebuild would have to load


@dataclass(frozen=True)
class Restored:
    """How many runs were written, were there already, and are asked for by no plan any more."""

    written: int
    there: int
    outdated: int


def exports_of(paper: str, folder: Path) -> list[Path]:
    """The tables of runs of a paper, below the folder of all that is published, by day."""
    return matching(folder / paper, "runs-*.parquet")


def exports_in(places: Sequence[Path]) -> list[Path]:
    """The tables of runs: those named, and of folders those in them or in their papers' folders."""
    files: list[Path] = []
    for each in places:
        if not exists(each):
            raise FedbenchError(f"{each}: there is no such file or folder")
        inside = [each] if each.is_file() else matching(each, "runs-*.parquet")
        # of other tables right below a folder without runs `read_published` says what they are
        inside = inside or [*matching(each, "*.parquet"), *sorted(each.glob("*/runs-*.parquet"))]
        if not inside:
            raise FedbenchError(f"{each}: has no published results, which `fedbench export` writes")
        files += inside
    return files


def export(plan: Plan, paper: str, results: Path, out: Path) -> Exported:
    """Publish the paper's runs that are finished or have diverged, and the trials of its searches.

    What no file in `<out>/<paper>` has yet goes into new ones; none is written again. The winners
    of searches whose trials are all published travel too, and the facts of the runs' data.
    """
    run_ids = plan.needed(cell for cell in plan.cells if cell.paper == paper)
    published = [(file, read_checked(file)) for file in exports_of(paper, out)]
    runs = _there(results, run_ids)
    held = {*joined([*published, (results, runs)]).runs}
    ended = [search for search, trials in plan.trials.items() if {*trials} <= held & {*run_ids}]
    data = dict.fromkeys(data_key(plan.runs[key].dataset) for key in run_ids if key in held)
    here = replace(_there(results, (), ended, data), runs=runs.runs)
    whole, before = joined([*published, (results, here)]), joined(published)
    new, files = whole.only(lambda name: name not in before.names), []
    if new.names:
        require_sound(here, results)
        require_same_data(whole, results)
        new = replace(new, data=whole.data)  # each export says what its runs were trained on
        files = write_published(new, out / paper, str(date.today()), roles(plan, paper))
    return Exported(
        folder=out / paper,
        files=tuple(files),
        new=len(new.runs),
        planned=len(run_ids),
        held=len(held & {*run_ids}),
        missing=tuple(run_id for run_id in run_ids if run_id not in held),
        others=len(held - {*run_ids}),
        unknown=tuple(key for key in data if key not in whole.data),
    )


def roles(plan: Plan, paper: str) -> dict[str, Role]:
    """The method of each of the paper's runs, and of the trials of their searches, by id."""
    found, trials = dict[str, Role](), dict[str, Role]()
    for cell in plan.cells:
        if cell.paper == paper and "method" in cell.coords:
            method = str(cell.coords["method"])
            found.setdefault(cell.run_id, (method, False))
            for trial in plan.trials_of(cell.run_id):
                trials.setdefault(trial, (method, True))
    return trials | found


def restore(files: Sequence[Path], results: Path, among: Collection[str] | None = None) -> Restored:
    """Write what the exports hold, or what is `among` it, into the results folder, with stamps.

    Runs that have other numbers by now (`spec.numerics_versions`), or another id, are left out.
    Nothing is written unless all of it may stand beside what the folder has.
    """
    told = [(file, read_checked(file)) for file in files]
    asked = [(file, each.only(lambda key: among is None or key in among)) for file, each in told]
    old = {k for k, x in joined(asked).runs.items() if is_outdated(x.record["settings"])}
    sources = [(file, each.only(lambda key: key not in old)) for file, each in asked]
    meant = joined(sources)
    folders = Results(results)
    known = [file.stem for file in folders.facts()]
    there = _there(results, meant.runs, meant.searches, [*meant.data, *known])
    require_same_data(joined([(results, there), *sources]), results)
    new = meant.only(lambda name: name not in there.names)
    for folder in map(folders.run, new.runs):
        if state(folder).status is Status.running:
            raise FedbenchError(f"{folder.path}: is being trained; wait until it has ended")
    for key, facts in new.data.items():
        write_facts(folders.data(key), facts)
    for key, run in meant.runs.items():
        folder, stamp = folders.run(key), folders.stamp(key)
        if key in new.runs:
            others = {name: table for name, table in run.tables.items() if name != "rounds"}
            folder.finish(run.record, run.tables["rounds"], {}, others)
        folder.forget_checkpoint()  # of an earlier, unfinished training
        failure_file(folder).unlink(missing_ok=True)
        # the stamp of a run that was there keeps its time: what was made from it is up to date
        if key in new.runs or not exists(stamp):
            stamp.touch()
    for key, winner in new.searches.items():
        write_json(folders.winner(key), signed(dict(winner), results))
    return Restored(len(new.runs), len(meant.runs) - len(new.runs), len(old))


def restore_missing(plan: Plan, paper: str, results: Path, folder: Path) -> int:
    """Restore from a folder of exports what the plan of a paper lacks; says how many runs."""
    left = {run_id for run_id in plan.runs if not Results(results).run(run_id).has_record()}
    also = {*plan.trials, *(data_key(run.dataset) for run in plan.runs.values())}
    files = [file for file in exports_of(paper, folder) if left & run_ids(file)]
    return restore(files, results, left | also).written if files else 0


def read_checked(file: Path) -> Published:
    """What an export holds; raises `FedbenchError` unless all of it is sound."""
    content = read_published(file)
    require_sound(content, file)
    return content


def _there(
    results: Path, run_ids: Iterable[str], searches: Iterable[str] = (), data: Iterable[str] = ()
) -> Published:
    """What of these a results folder has, without its machine's folders; no file may be changed."""
    folders = Results(results)
    runs = {run_id: published_run(folders.run(run_id), run_id) for run_id in run_ids}
    winners = {search: folders.winner(search) for search in searches}
    facts = {key: folders.data(key) for key in data}
    told = {key: read_facts(file) for key, file in facts.items() if exists(file)}
    return Published(
        {run_id: run for run_id, run in runs.items() if run is not None},
        {search: _winner(file) for search, file in winners.items() if exists(file)},
        {k: x | {"origin": without_folders(x.get("origin", {}))} for k, x in told.items()},
    )


def _winner(file: Path) -> dict[str, Any]:
    """What a search chose, as it travels; those of earlier versions have no checksum."""
    winner = read_json(file)
    if CHECKSUM in winner and not is_as_written(winner):
        told = "is not what the search chose, by its checksum"
        raise FedbenchError(f"{file}: {told}; delete it to have the winner chosen again")
    return {name: value for name, value in winner.items() if name not in (CHECKSUM, RECORDS)}


def published_run(folder: RunFolder, run_id: str) -> PublishedRun | None:
    """A run as it travels, without weights and a machine's folders; None if it is not finished."""
    record = folder.finished(run_id)
    if record is None:
        return None
    files = {name: sum_ for name, sum_ in record.get("files", {}).items() if name != _WEIGHTS}
    tables = {Path(name).stem: folder.arrow(Path(name).stem, record) for name in files}
    kept = {name: value for name, value in record.items() if name not in ("files", CHECKSUM)}
    return PublishedRun(kept | {"data": without_folders(record["data"])}, tables, files)


def require_sound(content: Published, origin: Path) -> None:
    """Raise `FedbenchError`, with `origin`, on anything that is damaged or of other numerics."""
    kinds = (("data set", "checksum", content.data), ("search", "chosen", content.searches))
    for kind, field, things in kinds:
        for key, told in things.items():
            if field not in told:
                raise FedbenchError(f"{origin}: {kind} {key}: the field {field} is missing")
            require_name("name", key, origin)
    for key, run in content.runs.items():
        _require_sound_run(key, run, f"{origin}: run {key}")
    require_same_data(content, origin)


def _require_sound_run(key: str, run: PublishedRun, where: str) -> None:
    """A run is finished, its id follows from its settings, and it has rounds."""
    for kind, name in (("run", key), *(("table", name) for name in run.tables)):
        require_name(kind, name, where)
    fields, settings = require_record(where, dict(run.record), AGAIN), run.record.get("settings")
    with at(f"{where}: settings"):
        identity = digest(settings)
    wrong = {
        f"its status is {fields.status}, not one of {', '.join(DONE)}": fields.status not in DONE,
        f"holds the record of run {fields.id}": fields.id != key,
        "has no rounds": "rounds" not in run.tables,
        "settings must be a mapping of fields": not isinstance(settings, dict),
        "its id does not follow from its settings": not key.endswith(f"-{identity}"),
    }
    for said in [said for said, is_wrong in wrong.items() if is_wrong]:
        raise FedbenchError(f"{where}: {said}; {AGAIN}")
    numerics = run.record["settings"].get("numerics")
    if numerics != NUMERICS:
        raise FedbenchError(
            f"{where}: has numerics {numerics}, and this fedbench has {NUMERICS}, which gives "
            "other numbers; use the fedbench that trained it, or train again without the file"
        )


def require_same_data(content: Published, origin: Path) -> None:
    """Refuse a run that was trained on other data than the facts beside it are of."""
    for key, run in content.runs.items():
        where = f"{origin}: run {key}"
        with at(f"{where}: resolved.dataset"):
            choice = checked(Choice, run.record["resolved"].get("dataset"))
            code = run.record["settings"].get("plugins", {}).get(f"dataset {choice.name}", ())
            data = data_key(choice, code)
        trained = run.record["data"]["checksum"]
        loaded = content.data[data]["checksum"] if data in content.data else trained
        if loaded != trained:
            said = f"{where} was trained on data with the checksum {trained[:12]}, but data set"
            raise FedbenchError(f"{said} {data} here has {str(loaded)[:12]}; {_OTHER_DATA}")


def joined(sources: Iterable[tuple[Path, Published]]) -> Published:
    """All that several sources hold, each thing once; refuses one that is not the same in two."""
    whole: dict[str, dict[str, Any]] = {field: {} for field in _SAME}
    origins: dict[tuple[str, str], Path] = {}
    for origin, content in sources:
        for field, (kind, same) in _SAME.items():
            for key, thing in getattr(content, field).items():
                first = origins.setdefault((kind, key), origin)
                if not same(whole[field].setdefault(key, thing), thing):
                    told = f"{kind} {key} is not the same in {first} and in {origin}"
                    raise FedbenchError(f"{told}; {_remedy(kind, key, (first, origin))}")
    return Published(**whole)


def _remedy(kind: str, key: str, origins: tuple[Path, Path]) -> str:
    """What to do about a thing that two files, or a file and a results folder, tell differently."""
    if kind == "data set":
        return _OTHER_DATA
    if kind == "search":
        return "delete the one whose trials are not wanted"
    folders = [Results(origin).run(key).path for origin in origins if origin.is_dir()]
    if not folders:
        return "it was trained twice: take away the file that is not wanted"
    restored = f"it was trained twice: delete {folders[0]} and run `fedbench restore`"
    return f"{restored}, or move the published file away and run `fedbench export`"

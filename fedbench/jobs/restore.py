"""Turns published files back into the folders of runs, as if these had been trained here."""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path

from fedbench.base.errors import FedbenchError
from fedbench.base.files import exists, matching, write_bytes
from fedbench.jobs.published import (
    all_present,
    joined,
    outdated,
    place,
    read_checked,
    require_same_data,
)
from fedbench.store import CHECKPOINT, Results, Status, forget_failure, state
from fedbench.store.packed import RECORD, Files
from fedbench.store.published import Kind, Published, Thing


@dataclass(frozen=True)
class Restored:
    """How many runs were written, were there already, and are of code that has changed since."""

    written: int
    there: int
    outdated: int


def published_files(places: Sequence[Path]) -> list[Path]:
    """The files named, and of folders those that `export` wrote there.

    Raises `FedbenchError` if a folder has none.
    """
    files: list[Path] = []
    for each in places:
        if not exists(each):
            raise FedbenchError(f"{each}: there is no such file or folder")
        inside = matching(each, "*.parquet") if each.is_dir() else [each]
        if not inside:
            raise FedbenchError(f"{each}: has no published results, which end in .parquet")
        files += inside
    return files


def restore(files: Sequence[Path], results: Path, among: Container[str] | None = None) -> Restored:
    """Write all that the files hold into the results folder, with Snakemake's stamps.

    `among` names the runs, data sets and searches that are meant; without it all are. Runs of a
    component whose numbers have changed since (`spec.numerics`) are left out.

    Nothing is written unless all of it may stand beside what the folder has: raises `FedbenchError`
    naming a run, a data set or a search that is there with another content. A run's record is
    written last, so that a folder that has one is whole, whenever this is stopped.
    """
    sources = [(file, read_checked(file)) for file in files]
    everything = joined(sources)
    asked = {k: v for k, v in everything.items() if among is None or k.name in among}
    old = outdated(asked)
    published = {thing: files for thing, files in asked.items() if thing not in old}
    meant = [(file, {k: v for k, v in told.items() if k in published}) for file, told in sources]
    there = all_present([*published, *_facts(results)], results)
    whole = joined([(results, there), *meant])
    require_same_data(whole, results)
    new = {thing: files for thing, files in whole.items() if thing not in there}
    _require_idle(new, results)
    for thing, content in new.items():
        _write(thing, content, results)
    runs = [thing for thing in published if thing.kind is Kind.run]
    for thing in runs:
        _settle(thing.name, results, new=thing in new)
    written = sum(thing in new for thing in runs)
    return Restored(written, len(runs) - written, len(old))


def _facts(results: Path) -> list[Thing]:
    """The data sets whose facts the results folder has."""
    return [Thing(Kind.data, file.stem) for file in Results(results).facts()]


def _require_idle(new: Published, results: Path) -> None:
    """Refuse to write into the folder of a run that is being trained."""
    for thing in new:
        folder = Results(results).run(thing.name)
        if thing.kind is Kind.run and state(folder).status is Status.running:
            raise FedbenchError(f"{folder.path}: is being trained; wait until it has ended")


def _write(thing: Thing, files: Files, results: Path) -> None:
    for name in sorted(files, key=lambda name: name == RECORD):  # the record last
        write_bytes(place(thing, name, results), files[name])


def _settle(run_id: str, results: Path, new: bool) -> None:
    """Delete what an earlier, unfinished training left, and write the stamp that says it is done.

    The stamp of a run that was there keeps its time: what was made from it is still up to date.
    """
    folder, stamp = Results(results).run(run_id), Results(results).stamp(run_id)
    (folder.path / CHECKPOINT).unlink(missing_ok=True)
    forget_failure(folder)
    if new or not exists(stamp):
        stamp.touch()

"""What of a results folder is published, and checks that it may stand beside other results.

The facts of data sets travel with the runs, and so do the winners of searches: with them a report
is rebuilt without training anything and without the data.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fedbench.base.errors import FedbenchError
from fedbench.base.files import exists, mapping, matching
from fedbench.base.strict import checked
from fedbench.plan.data import data_key
from fedbench.spec import NAMED, NUMERICS, Choice, RunSpec
from fedbench.spec.numerics import changed_since, given
from fedbench.store import Results
from fedbench.store.outcome import same_numbers
from fedbench.store.packed import RECORD, Files, anywhere, as_json, packed, require_packed
from fedbench.store.published import Kind, Published, Thing, read_published

_ONLY = {Kind.data: "facts.json", Kind.search: "winner.json"}  # their only file
_REMEDIES = {
    Kind.data: "runs trained on different data cannot be compared: use another results folder",
    Kind.search: "delete the one whose trials are not wanted",
}


def files_of(paper: str, folder: Path) -> list[Path]:
    """The published files of a paper: its first, then what was added later, by day."""
    first = folder / f"{paper}.parquet"
    later = matching(folder, f"{paper}-????-??-??.parquet")
    return [*([first] if exists(first) else []), *later]


def place(thing: Thing, name: str, results: Path) -> Path:
    """Where a file of the thing lies in a results folder."""
    folders = Results(results)
    if thing.kind is Kind.run:
        return folders.run(thing.name).path / name
    return folders.data(thing.name) if thing.kind is Kind.data else folders.winner(thing.name)


def present(thing: Thing, results: Path) -> Files | None:
    """The files of the thing in a results folder; None if it is not there or not finished.

    Raises `FedbenchError` naming a file that was changed since it was written.
    """
    if thing.kind is Kind.run:
        return packed(Results(results).run(thing.name), thing.name)
    file = place(thing, _ONLY[thing.kind], results)
    if not exists(file):
        return None
    return {_ONLY[thing.kind]: _facts(file) if thing.kind is Kind.data else file.read_bytes()}


def _facts(file: Path) -> bytes:
    """The facts of a data set without the folder that it lay in on this machine."""
    facts = mapping(file.read_bytes(), str(file))
    return as_json(facts | {"origin": anywhere(facts.get("origin", {}))})


def all_present(things: Iterable[Thing], results: Path) -> Published:
    """Those of the things that a results folder has, with their files."""
    looked = ((thing, present(thing, results)) for thing in things)
    return {thing: files for thing, files in looked if files is not None}


def read_checked(file: Path) -> Published:
    """The content of a published file; raises `FedbenchError` unless each thing in it is sound."""
    content = read_published(file)
    require_sound(content, file)
    require_same_data(content, file)
    return content


def require_sound(content: Published, origin: Path) -> None:
    """Raise `FedbenchError`, with `origin`, on a thing that is damaged or of other numerics."""
    for thing, files in content.items():
        where = f"{origin}: {thing}"
        if thing.kind is Kind.run:
            _require_same_numerics(require_packed(thing.name, files, where), where)
        else:
            _require_fields(thing, files, where)


def outdated(content: Published) -> set[Thing]:
    """Runs of components that give other numbers by now, which no plan asks for any more."""
    records = {
        thing: mapping(files[RECORD], str(thing))
        for thing, files in content.items()
        if thing.kind is Kind.run
    }
    return {thing for thing, record in records.items() if _is_outdated(record["settings"])}


def _is_outdated(settings: dict[str, Any]) -> bool:
    kinds = [(kind, settings.get(kind, RunSpec.model_fields[kind].default)) for kind in NAMED]
    kinds += [("method", part) for part in settings.get("parts", ())]
    kinds += [("probe", probe) for probe in settings.get("watch", ())]
    choices = [(kind, checked(Choice, value)) for kind, value in kinds]
    now = changed_since(choices, given(settings))
    return any(settings.get("newer", {}).get(name) != version for name, version in now.items())


def require_same_data(content: Published, origin: Path) -> None:
    """Refuse a run that was trained on other data than the facts beside it are of."""
    for thing, files in content.items():
        if thing.kind is Kind.run:
            where = f"{origin}: {thing}"
            _require_its_data(mapping(files[RECORD], where), content, where)


def joined(sources: Iterable[tuple[Path, Published]]) -> Published:
    """All things of several sources, each once; the first source with a thing wins.

    Raises `FedbenchError` naming a thing that two sources have and that is not the same in both.
    """
    whole: dict[Thing, Files] = {}
    origins: dict[Thing, Path] = {}
    for origin, content in sources:
        for thing, files in content.items():
            if thing not in whole:
                whole[thing], origins[thing] = files, origin
            elif not _agree(thing, whole[thing], files):
                raise FedbenchError(
                    f"{thing} is not the same in {origins[thing]} and in {origin}; "
                    f"{_remedy(thing, origins[thing], origin)}"
                )
    return whole


def _remedy(thing: Thing, *origins: Path) -> str:
    """What to do about a thing that is not the same in two files, or in a file and a folder."""
    if thing.kind is not Kind.run:
        return _REMEDIES[thing.kind]
    folders = [origin for origin in origins if origin.is_dir()]
    if not folders:
        return "it was trained twice: take away the file that is not wanted"
    folder = Results(folders[0]).run(thing.name).path
    return (
        f"it was trained twice: delete {folder} and run `fedbench restore`, or move the published "
        "file away and run `fedbench export`"
    )


def _agree(thing: Thing, one: Files, other: Files) -> bool:
    """Whether both are the same: of runs all numbers, of searches what their files say.

    Of data sets the checksums of the data count.
    """
    if thing.kind is Kind.data:
        return bool(_checksum(thing, one) == _checksum(thing, other))
    if thing.kind is Kind.search:  # versions differ in how they spell a number: 10 and 10.0
        return _content(thing, one) == _content(thing, other)
    return dict(one) == dict(other) or same_numbers(one, other)


def _checksum(thing: Thing, files: Files) -> Any:
    return _content(thing, files).get("checksum")


def _content(thing: Thing, files: Files) -> dict[str, Any]:
    """What the only file of a data set or a search says."""
    return mapping(files[_ONLY[thing.kind]], str(thing))


def _require_same_numerics(record: dict[str, Any], where: str) -> None:
    numerics = record["settings"].get("numerics")
    if numerics != NUMERICS:
        raise FedbenchError(
            f"{where}: has numerics {numerics}, and this fedbench has {NUMERICS}, which gives "
            "other numbers; use the fedbench that trained it, or move the file away and train again"
        )


def _require_its_data(record: dict[str, Any], content: Published, where: str) -> None:
    try:
        data = Thing(Kind.data, data_key(checked(Choice, record["resolved"].get("dataset"))))
    except FedbenchError as error:
        raise FedbenchError(f"{where}: resolved.dataset: {error}") from None
    trained = record["data"].get("checksum")
    loaded = _checksum(data, content[data]) if data in content else trained
    if loaded != trained:
        raise FedbenchError(
            f"{where} was trained on data with the checksum {str(trained)[:12]}, but {data} here "
            f"has {str(loaded)[:12]}; {_REMEDIES[Kind.data]}"
        )


def _require_fields(thing: Thing, files: Files, where: str) -> None:
    """Refuse facts without a checksum, a search without a winner, and any other file."""
    if [*files] != [_ONLY[thing.kind]]:
        names = ", ".join(files)
        raise FedbenchError(f"{where}: must have the file {_ONLY[thing.kind]}, not {names}")
    fields = mapping(files[_ONLY[thing.kind]], where)
    needed = "checksum" if thing.kind is Kind.data else "chosen"
    if needed not in fields:
        raise FedbenchError(f"{where}: the field {needed} is missing")

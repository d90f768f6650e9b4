"""What must hold before runs may stand together: sound records, one training of each, one data."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from fedbench.base.checks import checked, require_name
from fedbench.base.checksums import canonical, digest
from fedbench.base.errors import FedbenchError, at
from fedbench.plan.data import data_key
from fedbench.spec import NUMERICS, Choice
from fedbench.store import Results, require_record
from fedbench.store.published import Published, PublishedRun
from fedbench.store.run import DONE

_T = TypeVar("_T")

_AGAIN = "take another copy of it"
_OTHER_DATA = "runs trained on different data cannot be compared: use another results folder"


def require_sound(content: Published, origin: Path) -> None:
    """Raise `FedbenchError`, with `origin`, on anything that is damaged or of other numerics.

    A run is finished, its id follows from its settings, it has rounds, and it was trained on the
    data whose facts are beside it.
    """
    for field, kind, things in (
        ("checksum", "data set", content.data),
        ("chosen", "search", content.searches),
    ):
        for key, told in things.items():
            if field not in told:
                raise FedbenchError(f"{origin}: {kind} {key}: the field {field} is missing")
            require_name("name", key, origin)
    for key, run in content.runs.items():
        _require_sound_run(key, run, f"{origin}: run {key}")
    require_same_data(content, origin)


def _require_sound_run(key: str, run: PublishedRun, where: str) -> None:
    require_name("run", key, where)
    fields, settings = require_record(where, dict(run.record), _AGAIN), run.record.get("settings")
    if fields.status not in DONE:
        raise FedbenchError(f"{where}: its status is {fields.status}, not one of {', '.join(DONE)}")
    if fields.id != key:
        raise FedbenchError(f"{where}: holds the record of run {fields.id}; {_AGAIN}")
    if "rounds" not in run.tables:
        raise FedbenchError(f"{where}: has no rounds; {_AGAIN}")
    for name in run.tables:
        require_name("table", name, where)
    if not isinstance(settings, dict):
        raise FedbenchError(f"{where}: settings must be a mapping of fields; {_AGAIN}")
    with at(f"{where}: settings"):
        identity = digest(settings)
    if not key.endswith(f"-{identity}"):
        raise FedbenchError(f"{where}: its id does not follow from its settings; {_AGAIN}")
    if settings.get("numerics") != NUMERICS:
        raise FedbenchError(
            f"{where}: has numerics {settings.get('numerics')}, and this fedbench has {NUMERICS}, "
            "which gives other numbers; use the fedbench that trained it, or move the file away "
            "and train again"
        )


def require_same_data(content: Published, origin: Path) -> None:
    """Refuse a run that was trained on other data than the facts beside it are of."""
    for key, run in content.runs.items():
        where = f"{origin}: run {key}"
        with at(f"{where}: resolved.dataset"):
            data = data_key(checked(Choice, run.record["resolved"].get("dataset")))
        trained = run.record["data"].get("checksum")
        loaded = content.data[data]["checksum"] if data in content.data else trained
        if loaded != trained:
            raise FedbenchError(
                f"{where} was trained on data with the checksum {str(trained)[:12]}, but data set "
                f"{data} here has {str(loaded)[:12]}; {_OTHER_DATA}"
            )


def joined(sources: Iterable[tuple[Path, Published]]) -> Published:
    """All that several sources hold, each thing once; the first source with a thing wins.

    Raises `FedbenchError` naming a thing that two sources have and that is not the same in both: a
    run with other numbers, a search with another winner, a data set with another checksum.
    """
    told = list(sources)
    return Published(
        _joined("run", [(o, c.runs) for o, c in told], PublishedRun.same_numbers),
        # versions differ in how they spell a number: 10 and 10.0
        _joined(
            "search",
            [(o, c.searches) for o, c in told],
            lambda one, other: canonical(dict(one)) == canonical(dict(other)),
        ),
        _joined(
            "data set",
            [(o, c.data) for o, c in told],
            lambda one, other: one["checksum"] == other["checksum"],
        ),
    )


def _joined(
    kind: str, sources: list[tuple[Path, Mapping[str, _T]]], same: Callable[[_T, _T], bool]
) -> dict[str, _T]:
    whole: dict[str, _T] = {}
    origins: dict[str, Path] = {}
    for origin, things in sources:
        for key, thing in things.items():
            first = origins.setdefault(key, origin)
            if not same(whole.setdefault(key, thing), thing):
                raise FedbenchError(
                    f"{kind} {key} is not the same in {first} and in {origin}; "
                    f"{_remedy(kind, key, (first, origin))}"
                )
    return whole


def _remedy(kind: str, key: str, origins: tuple[Path, Path]) -> str:
    """What to do about a thing that two files, or a file and a results folder, tell differently."""
    if kind == "data set":
        return _OTHER_DATA
    if kind == "search":
        return "delete the one whose trials are not wanted"
    folders = [Results(origin).run(key).path for origin in origins if origin.is_dir()]
    if not folders:
        return "it was trained twice: take away the file that is not wanted"
    return (
        f"it was trained twice: delete {folders[0]} and run `fedbench restore`, or move the "
        "published file away and run `fedbench export`"
    )

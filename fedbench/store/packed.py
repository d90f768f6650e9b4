"""The files of a finished run as they travel: checked, without weights and a machine's folders."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from fedbench.base.digest import digest
from fedbench.base.errors import FedbenchError
from fedbench.base.files import mapping
from fedbench.base.strict import require_name
from fedbench.store.run import DONE, Record, RunFolder, require_record
from fedbench.store.sealed import require_sealed, sealed_again

Files = Mapping[str, bytes]  # the bytes of files by their names

RECORD = "run.json"
_WEIGHTS = "model.safetensors"
_AGAIN = "take another copy of it"


def packed(folder: RunFolder, run_id: str) -> Files | None:
    """The record and the tables of a run; None if it is not finished.

    Tables are packed byte by byte. Weights are left out, and the record then does not name them;
    nor does it name the folder in which the data lay. Raises `FedbenchError` naming a file that is
    another run's, was changed or is missing.
    """
    record = folder.finished(run_id)
    if record is None:
        return None
    kept = {name: sum_ for name, sum_ in record.get("files", {}).items() if name != _WEIGHTS}
    told = sealed_again(record | {"data": anywhere(record["data"]), "files": kept})
    return {name: (folder.path / name).read_bytes() for name in kept} | {RECORD: as_json(told)}


def anywhere(origin: Mapping[str, Any]) -> dict[str, Any]:
    """Where data came from, with the bare name of their file or folder in place of its path."""
    bare = {"file": PurePath(origin["file"]).name} if origin.get("file") else {}
    return {**origin, **bare}


def as_json(content: Mapping[str, Any]) -> bytes:
    """A record, or the facts of a data set, as they are written to their files."""
    return (json.dumps(content, indent=2) + "\n").encode()


def require_packed(run_id: str, files: Files, place: str) -> dict[str, Any]:
    """The record of a packed run; raises `FedbenchError`, with `place`, unless all of it is sound.

    The run is finished, its id follows from its settings, and its tables are those that its record
    names, with the bytes that were written when it ended.
    """
    if RECORD not in files:
        raise FedbenchError(f"{place}: has no {RECORD}; {_AGAIN}")
    record = mapping(files[RECORD], f"{place}: {RECORD}")
    fields = require_record(f"{place}: {RECORD}", record, _AGAIN)
    if fields.status not in DONE:
        raise FedbenchError(f"{place}: its status is {fields.status}, not one of {', '.join(DONE)}")
    if fields.id != run_id:
        raise FedbenchError(f"{place}: holds the record of run {fields.id}; {_AGAIN}")
    _require_identity(run_id, record.get("settings"), place)
    _require_tables(fields, files, place)
    require_sealed(f"{place}: {RECORD}", record, _AGAIN)
    return record


def _require_identity(run_id: str, settings: Any, place: str) -> None:
    if not isinstance(settings, dict):
        raise FedbenchError(f"{place}: settings must be a mapping of fields; {_AGAIN}")
    try:
        identity = digest(settings)
    except FedbenchError as error:
        raise FedbenchError(f"{place}: settings: {error}") from None
    if not run_id.endswith(f"-{identity}"):
        raise FedbenchError(f"{place}: its id does not follow from its settings; {_AGAIN}")


def _require_tables(fields: Record, files: Files, place: str) -> None:
    """Refuse names that are no table's, tables too many or too few, and changed bytes."""
    if "rounds.parquet" not in fields.files:
        raise FedbenchError(f"{place}: its record has no checksum of rounds.parquet; {_AGAIN}")
    for name in files.keys() ^ {*fields.files, RECORD}:
        raise FedbenchError(f"{place}: {name} is in the record or among the files, not in both")
    for name, sha256 in fields.files.items():
        require_name("file", name, place)
        if not name.endswith(".parquet"):
            raise FedbenchError(f"{place}: {name} is no table; {_AGAIN}")
        if hashlib.sha256(files[name]).hexdigest() != sha256:
            raise FedbenchError(f"{place}: {name} is not the file that the run wrote; {_AGAIN}")

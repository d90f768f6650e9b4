"""What is known of the data that runs were trained on, whichever run or file says it."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath
from typing import Any

from fedbench.base.files import read_json
from fedbench.store.results import Results

_Record = dict[str, Any]


def without_folders(origin: Mapping[str, Any]) -> dict[str, Any]:
    """Where data came from, with the bare name of their file or folder in place of its path."""
    bare = {"file": PurePath(origin["file"]).name} if origin.get("file") else {}
    return {**origin, **bare}


def origins(results: Results, records: Iterable[_Record]) -> Callable[[_Record], _Record]:
    """What adds to a run's record all that is known of its data, without folders of this machine.

    What is known of a file may be found out after runs were trained on it: that some images are
    not exactly the published ones, for example. Then these records of equal arrays say it, or the
    facts of the data set, and it is as true of a run whose own record does not. The first to tell
    something is believed. Raises `FedbenchError` for facts that are not JSON.
    """
    facts = [read_json(file) for file in results.facts()]
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

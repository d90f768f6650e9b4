"""Whether a run that was trained twice has the same numbers, whatever time and machine it took."""

from typing import Any

import pandas as pd

from fedbench.base.files import mapping
from fedbench.store.arrow import read_parquet
from fedbench.store.packed import RECORD, Files

# Fields of the record that are the same on any machine and at any time
_FIELDS = ("id", "status", "rounds", "resolved", "sample_passes", "floats", "samples")
_CLOCK = "_seconds"  # the ending of columns that a clock fills


def same_numbers(one: Files, other: Files) -> bool:
    """Whether two trainings of a run differ in nothing but seconds, dates and machines."""
    return (
        one.keys() == other.keys()
        and _outcome(one) == _outcome(other)
        and all(_table(one[name]).equals(_table(other[name])) for name in one if name != RECORD)
    )


def _outcome(files: Files) -> dict[str, Any]:
    record = mapping(files[RECORD], RECORD)
    checksum = record.get("data", {}).get("checksum")
    return {name: record.get(name) for name in _FIELDS} | {"data": checksum}


def _table(content: bytes) -> pd.DataFrame:
    table = read_parquet(content)
    return table[[name for name in table if not str(name).endswith(_CLOCK)]]

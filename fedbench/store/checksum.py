"""Checksums of values, the same in every version of Arrow and pandas: of records and of tables."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute, types

from fedbench.base.checksums import digest
from fedbench.base.errors import FedbenchError

CHECKSUM = "checksum"  # the field of a record that holds its own


def with_checksum(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with the checksum of all its other fields, as its last field."""
    others = without_checksum(record)
    return {**others, CHECKSUM: digest(others)}


def without_checksum(record: Mapping[str, Any]) -> dict[str, Any]:
    """All other fields of the record."""
    return {name: value for name, value in record.items() if name != CHECKSUM}


def require_checksum(file: object, record: Mapping[str, Any], remedy: str) -> None:
    """Raise `FedbenchError` if a field was edited; records of earlier versions cannot tell."""
    if CHECKSUM in record and record[CHECKSUM] != digest(without_checksum(record)):
        raise FedbenchError(
            f"{file}: is not the record that the run wrote, by its field {CHECKSUM!r}; {remedy}"
        )


def table_checksum(table: pa.Table) -> str:
    """The sha256 of the names, kinds and values of all columns, in their order.

    How wide numbers are stored changes nothing, nor whether a missing number is null or NaN.
    """
    sums = hashlib.sha256()
    for name in table.column_names:
        kind, content = _values(table[name].combine_chunks())
        sums.update(f"{json.dumps(name)} {kind} {len(content)} ".encode())
        sums.update(content)
    return sums.hexdigest()


def _values(column: pa.Array) -> tuple[str, bytes]:
    """The kind of a column, and its values as bytes: numbers in 64 bits, anything else as JSON."""
    if types.is_floating(column.type):
        numbers = column.to_numpy(zero_copy_only=False).astype("<f8")
        return "float", np.where(np.isnan(numbers), np.nan, numbers).tobytes()
    if types.is_integer(column.type) or types.is_boolean(column.type):
        kind = "bool" if types.is_boolean(column.type) else "int"
        numbers = compute.fill_null(column.cast(pa.int64()), 0).to_numpy().astype("<i8")
        missing = column.is_null().to_numpy(zero_copy_only=False)
        return kind, numbers.tobytes() + np.packbits(missing).tobytes()
    return "text", json.dumps(column.to_pylist(), default=str).encode()

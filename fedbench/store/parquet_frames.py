"""Tables between Parquet, Arrow and pandas, read here alone, in one thread.

Arrow's own threads, which pandas' `read_parquet` needs, now and then abort a process that ends.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute, parquet, types

from fedbench.base.errors import failing
from fedbench.base.files import atomic, write_bytes, write_text
from fedbench.base.grouping import grouped

_LEVEL = 15  # of zstd: 874,000 rows of clients are 284 kB at level 9, 195 at 15, 185 at 19
_WHOLE = 2**30  # rows of a group and bytes of a page: the compressor sees all runs together


def read_arrow(content: bytes) -> pa.Table:
    """The table that the bytes of a Parquet file hold."""
    return parquet.ParquetFile(pa.BufferReader(content)).read(use_threads=False)


def in_pandas(table: pa.Table) -> pd.DataFrame:
    """The table as a frame."""
    frame: pd.DataFrame = table.to_pandas(use_threads=False)
    return frame


def to_parquet(table: pd.DataFrame | pa.Table) -> bytes:
    """The bytes of the table as a Parquet file, which follow from its values and their types."""
    if isinstance(table, pd.DataFrame):
        table = pa.Table.from_pandas(table, preserve_index=False)
    content = pa.BufferOutputStream()
    parquet.write_table(table.replace_schema_metadata(None), content)
    return bytes(content.getvalue())


def from_rows(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """A table of these rows without empty columns; one not of numbers alone is text, or JSON."""
    found = list(rows)
    names = dict.fromkeys(name for row in found for name in row)
    columns = {name: _column([row.get(name) for row in found]) for name in names}
    return pa.table({n: column for n, column in columns.items() if column.null_count < len(column)})


def _column(values: list[Any]) -> pa.Array:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool} or kinds == {int}:
        return pa.array(values)
    if kinds <= {int, float}:
        return pa.array(values, pa.float64())
    words = [v if isinstance(v, str | None) else json.dumps(v) for v in values]
    return pa.array(words, pa.string())


def with_columns(table: pa.Table, **same: Any) -> pa.Table:
    """The table after columns that say the same in all its rows."""
    first = {name: pa.repeat(value, len(table)) for name, value in same.items()}
    return pa.table(first | {n: table[n] for n in table.column_names} | first)


def stacked(tables: Sequence[pa.Table]) -> pa.Table:
    """All rows below each other, with empty places; numbers and words become a column of text."""
    fields = grouped((each for table in tables for each in table.schema), lambda each: each.name)
    common = {name: _common({each.type for each in found}) for name, found in fields.items()}
    cast = [table.cast(pa.schema([(n, common[n]) for n in table.column_names])) for table in tables]
    return pa.concat_tables([pa.schema(common).empty_table(), *cast], promote_options="default")


def _common(kinds: set[pa.DataType]) -> pa.DataType:
    if all(map(types.is_boolean, kinds)):
        return pa.bool_()
    if all(map(types.is_integer, kinds)):
        return pa.int64()
    numbers = all(types.is_integer(each) or types.is_floating(each) for each in kinds)
    return pa.float64() if numbers else pa.string()


def write_small(table: pa.Table, file: Path, marks: Mapping[str, str]) -> None:
    """Write a table, noting the `marks`, in as few bytes as any reader of Parquet understands.

    Numbers are stored in 32 bits where that loses nothing. Whole numbers lie plainly, since the
    tables of two runs often have the same ones, which the compressor sees; other columns are
    encoded by their distinct values if these are few, and floats byte by byte if not.
    """
    small = pa.table({name: _narrow(table[name]) for name in table.column_names})
    few = [name for name in small.column_names if _has_few_values(small[name])]
    plain = {
        each.name: "BYTE_STREAM_SPLIT" if types.is_floating(each.type) else "PLAIN"
        for each in small.schema
        if each.name not in few
    }
    with atomic(file) as temporary:
        parquet.write_table(
            small.replace_schema_metadata(dict(marks)),
            temporary,
            compression="zstd",
            compression_level=_LEVEL,
            use_dictionary=few,
            column_encoding=plain,
            write_statistics=False,
            row_group_size=_WHOLE,
            data_page_size=_WHOLE,
            max_rows_per_page=_WHOLE,
        )


def _narrow(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if types.is_float64(column.type):
        short = column.cast(pa.float32(), safe=False)
        same = np.array_equal(column.to_numpy(), short.to_numpy(), equal_nan=True)
        return short if same else column
    if types.is_int64(column.type):
        ends = compute.min_max(column).as_py()
        fits = all(end is None or abs(end) < 2**31 for end in ends.values())
        return column.cast(pa.int32()) if fits else column
    return column


def _has_few_values(column: pa.ChunkedArray) -> bool:
    if types.is_integer(column.type) or types.is_boolean(column.type):
        return False
    return bool(4 * compute.count_distinct(column).as_py() <= len(column) - column.null_count)


def write_frame(frame: pd.DataFrame, file: Path) -> None:
    """Write a collected frame as parquet and its checksum as `<file>.sha256`, each atomically."""
    content = to_parquet(frame)
    write_bytes(file, content)
    checksum = hashlib.sha256(content).hexdigest()
    write_text(Path(f"{file}.sha256"), f"{checksum}  {file.name}\n")


def read_frame(file: Path) -> pd.DataFrame:
    """The frame; raises `FedbenchError` if it is damaged or is not the one that was written."""
    with failing(f"{file}: cannot be used", "delete it to collect the runs again"):
        content, beside = file.read_bytes(), Path(f"{file}.sha256")
        # earlier versions wrote none
        checksum = beside.read_text(encoding="utf-8") if beside.exists() else ""
        if checksum and hashlib.sha256(content).hexdigest() != checksum.partition(" ")[0]:
            raise ValueError("it is not the file that was written, by its sha256")
        return in_pandas(read_arrow(content))


def table_checksum(table: pa.Table) -> str:
    """The sha256 of names, kinds and values of all columns, whatever the bits of their numbers."""
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

"""Tables are read in one thread: Arrow's own may abort a process that has ended well."""

import ast
import subprocess
import sys

import pandas as pd
import pyarrow as pa

from fedbench.store import read_frame, write_frame
from fedbench.store.parquet_frames import (
    from_rows,
    read_arrow,
    stacked,
    table_checksum,
    write_small,
)
from tests.project import ROOT

READERS = """
import sys
from pathlib import Path
import psutil
from fedbench.jobs.collect import _joined
from fedbench.store import read_frame
from fedbench.store.parquet_frames import read_arrow

file = Path(sys.argv[1])
table = read_arrow(file.read_bytes())
before = psutil.Process().num_threads()
read_frame(file)
_joined([table, table])
print(psutil.Process().num_threads() - before)
"""


def frame():
    numbers = {f"n{i}": range(5000) for i in range(40)}
    return pd.DataFrame(numbers | {"word": ["a", None] * 2500, "yes": [True, False] * 2500})


def test_no_reader_starts_a_thread(tmp_path):
    write_frame(frame(), tmp_path / "frame.parquet")
    command = [sys.executable, "-c", READERS, tmp_path / "frame.parquet"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


def test_a_frame_is_read_as_pandas_reads_it(tmp_path):
    file = tmp_path / "frame.parquet"
    write_frame(frame(), file)
    pd.testing.assert_frame_equal(read_frame(file), pd.read_parquet(file))


TYPES = pa.schema(
    [("n", pa.int64()), ("x", pa.float64()), ("yes", pa.bool_()), ("word", pa.string())]
)


def test_a_small_file_has_the_values_that_were_written_in_fewer_bits_where_none_is_lost(tmp_path):
    rows = {
        **{"few": [1, 2, None], "many": [1, 2, 2**40]},
        **{"half": [0.5, None, float("inf")], "tenth": [0.1, 0.2, 0.3]},
        **{"word": ["a", None, "é"], "yes": [True, None, False]},
    }
    table = pa.table(rows)
    write_small(table, tmp_path / "small.parquet", {"by": "hand"})
    read = read_arrow((tmp_path / "small.parquet").read_bytes())
    stored = {each.name: str(each.type) for each in read.schema}
    assert (stored["few"], stored["many"]) == ("int32", "int64")
    assert (stored["half"], stored["tenth"]) == ("float", "double")
    assert read.cast(table.schema).equals(table)
    assert table_checksum(read) == table_checksum(table)
    assert read.schema.metadata == {b"by": b"hand"}


def test_repeated_tables_cost_next_to_nothing(tmp_path):
    clients = [(i * 7919) % 100_003 for i in range(20_000)]
    sizes = []
    for times in (1, 20):
        file = tmp_path / f"{times}.parquet"
        write_small(pa.table({"client": clients * times}), file, {})
        sizes.append(file.stat().st_size)
    assert sizes[1] < 2 * sizes[0]


def test_rows_become_columns_of_numbers_where_all_values_are_numbers():
    table = from_rows(
        [
            {"n": 1, "x": 1, "yes": True, "word": "a", "none": None},
            {"x": 0.5, "yes": None, "word": [1, 2]},
        ]
    )
    assert table.schema.equals(TYPES)
    assert table.to_pydict() == {
        **{"n": [1, None], "x": [1.0, 0.5], "yes": [True, None], "word": ["a", "[1, 2]"]}
    }


def test_stacked_tables_have_all_columns_and_one_type_in_each():
    whole = stacked(
        [
            pa.table({"a": pa.array([1], pa.int32()), "b": ["x"], "c": [1]}),
            pa.table({"c": [2.5], "b": [3], "d": [True]}),
        ]
    )
    assert whole.to_pydict() == {
        **{"a": [1, None], "b": ["x", "3"], "c": [1.0, 2.5], "d": [None, True]}
    }
    assert len(stacked([])) == 0


def test_nobody_else_reads_parquet():
    calls = ("read_parquet", "to_pandas", "ParquetFile", "read_table")
    found = {
        (file.name, node.attr)
        for file in (ROOT / "fedbench").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in calls
    }
    assert found == {("parquet_frames.py", "ParquetFile"), ("parquet_frames.py", "to_pandas")}

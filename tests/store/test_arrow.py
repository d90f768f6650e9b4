"""Tables are read in one thread: Arrow's own may abort a process that has ended well."""

import ast
import subprocess
import sys

import pandas as pd

from fedbench.store import read_frame, write_frame
from tests.project import ROOT

READERS = """
import sys
from pathlib import Path
import psutil
from fedbench.jobs.collect import _joined
from fedbench.store import read_frame
from fedbench.store.arrow import read_arrow
from fedbench.store.outcome import _table

file = Path(sys.argv[1])
table = read_arrow(file.read_bytes())
before = psutil.Process().num_threads()
read_frame(file)
_table(file.read_bytes())
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


def test_nobody_else_reads_parquet():
    calls = ("read_parquet", "to_pandas", "ParquetFile", "read_table")
    found = {
        (file.name, node.attr)
        for file in (ROOT / "fedbench").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in calls
    }
    assert found == {("arrow.py", "ParquetFile"), ("arrow.py", "to_pandas")}

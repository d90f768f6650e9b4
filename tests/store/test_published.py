"""The file in which runs are published: equal runs give equal bytes, and no damage is missed."""

import hashlib
import io

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from fedbench.base.errors import FedbenchError
from fedbench.store.published import Kind, Thing, read_published, write_published

RUN = Thing(Kind.run, "digits-mlp-iid-fedavg-s0-0123456789ab")
CONTENT = {
    RUN: {"run.json": b"{}", "rounds.parquet": b"\x00\xff"},
    Thing(Kind.data, "digits"): {"facts.json": b'{"train": 3}'},
    Thing(Kind.search, "0123456789ab"): {"winner.json": b""},
}


@pytest.fixture
def file(tmp_path):
    write_published(CONTENT, tmp_path / "tiny.parquet")
    return tmp_path / "tiny.parquet"


def test_what_is_read_is_what_was_written(file):
    assert read_published(file) == CONTENT


def test_any_reader_of_parquet_sees_a_row_per_file(file):
    frame = pd.read_parquet(file)
    assert frame["file"].tolist() == ["facts.json", "rounds.parquet", "run.json", "winner.json"]
    assert frame["kind"].tolist() == ["data set", "run", "run", "search"]
    assert frame["content"].tolist() == [b'{"train": 3}', b"\x00\xff", b"{}", b""]


def test_the_order_of_the_runs_changes_no_byte(file, tmp_path):
    other = {thing: dict(reversed(files.items())) for thing, files in reversed(CONTENT.items())}
    write_published(other, tmp_path / "other.parquet")
    assert (tmp_path / "other.parquet").read_bytes() == file.read_bytes()


def test_a_cut_file_is_one_sentence(file, refuses):
    whole = file.read_bytes()
    for length in (0, 3, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:length])
        with refuses(f"{file}: cannot be read .*take another copy"):
            read_published(file)


def test_a_flipped_bit_is_noticed_or_changes_nothing(file):
    whole = file.read_bytes()
    noticed = 0
    for place in range(0, len(whole), 7):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :])
        try:
            assert read_published(file) == CONTENT
        except FedbenchError:
            noticed += 1
    assert noticed > len(whole) / 7 / 3  # the rest of this tiny file describes it without need


@pytest.mark.parametrize(
    "name",
    ["../../x.parquet", "/etc/x.parquet", "..", ".", "", "a/b.parquet", "a\x00.parquet", "x" * 300],
)
def test_a_name_that_leads_elsewhere_is_refused(file, refuses, name):
    write_published({RUN: {name: b""}}, file)
    with refuses("file = .* is not allowed: a name is up to 200 of the letters"):
        read_published(file)
    write_published({Thing(Kind.run, name): {"run.json": b""}}, file)
    with refuses("run = .* is not allowed: a name is up to 200 of the letters"):
        read_published(file)


def rewritten(file, change):
    """The file with its table changed and everything else, its checksum too, as it was."""
    table = parquet.read_table(io.BytesIO(file.read_bytes()))
    parquet.write_table(change(table), file)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.drop_columns("kind"), "no file that `fedbench export` wrote"),
        (lambda t: t.replace_schema_metadata({}), "no file that `fedbench export` wrote"),
        (lambda t: pa.table({"x": [1]}), "no file that `fedbench export` wrote"),
        (lambda t: t.slice(1), "its content is not what was written"),
        (lambda t: pa.concat_tables([t, t]), "its content is not what was written"),
        (
            lambda t: t.replace_schema_metadata({**t.schema.metadata, b"fedbench.format": b"2"}),
            "written by another version",
        ),
    ],
)
def test_another_table_is_one_sentence(file, refuses, change, words):
    rewritten(file, change)
    with refuses(f"{file}: .*{words}"):
        read_published(file)


def signed(rows):
    """A table of these rows with a checksum that fits."""
    digest = hashlib.sha256()
    for name, kind, owner, content in rows:
        digest.update(f"{name} {kind} {owner} {len(content)} ".encode() + content)
    kinds = zip(("file", "kind", "name", "content"), [pa.string()] * 3 + [pa.binary()], strict=True)
    schema = pa.schema([pa.field(name, kind, nullable=False) for name, kind in kinds])
    marks = {"fedbench.sha256": digest.hexdigest(), "fedbench.format": "1"}
    columns = [list(column) for column in zip(*rows, strict=True)]
    return pa.table(columns, schema=schema.with_metadata(marks))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("run.json", "run", "a", b"")] * 2, "run.json of run a is there twice"),
        ([("run.json", "model", "a", b"")], "kind = 'model' is not allowed; choose from run"),
    ],
)
def test_rows_that_cannot_be_are_one_sentence(file, refuses, rows, words):
    parquet.write_table(signed(rows), file)
    with refuses(words):
        read_published(file)

"""One Parquet file that holds many runs, the facts of their data and the winners of searches.

It has a row per file of a results folder: the kind and the name of the thing that the file belongs
to, the name of the file, and its bytes. The bytes are stored as they are, since a run's record has
their checksums and another version of the Parquet library would write the same table differently.
"""

import hashlib
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyarrow import parquet

from fedbench.base.errors import FedbenchError, short
from fedbench.base.files import atomic
from fedbench.base.strict import require_name
from fedbench.store.arrow import read_arrow
from fedbench.store.packed import Files


class Kind(StrEnum):
    """The kinds of things that a published file holds."""

    run = "run"
    data = "data set"
    search = "search"


class Thing(NamedTuple):
    """What a file belongs to: a run by its id, a data set by its key, a search by its id."""

    kind: Kind
    name: str

    def __str__(self) -> str:
        """As a message names it: 'run digits-mlp-iid-fedavg-s0-0123456789ab'."""
        return f"{self.kind} {self.name}"


Published = Mapping[Thing, Files]

_Row = tuple[str, str, str, bytes]  # file, kind, name, content
_COLUMNS = {"file": pa.string(), "kind": pa.string(), "name": pa.string(), "content": pa.binary()}
_SCHEMA = pa.schema([pa.field(name, kind, nullable=False) for name, kind in _COLUMNS.items()])
_CHECKSUM, _FORMAT = b"fedbench.sha256", b"fedbench.format"
_VERSION = b"1"  # of the format; raised by a change that makes older versions of fedbench misread
# Of zstd. 1,526 runs, 30.5 MB: 3.48 MB in 0.9 s at level 9, 3.44 in 8 s at 15, 3.22 in 32 s at 19.
_LEVEL = 9
_AGAIN = "take another copy of it"


def write_published(content: Published, file: Path) -> None:
    """Write the file atomically; the same content gives the same bytes.

    Rows are sorted by the name of the file and lie on one page, so that the compressor sees the
    histories of all runs beside each other, then all records.
    """
    rows = _rows(content)
    table = pa.table([list(column) for column in zip(*rows, strict=True)], schema=_SCHEMA)
    marks = {_CHECKSUM: _checksum(rows).encode(), _FORMAT: _VERSION}
    with atomic(file) as temporary:
        parquet.write_table(
            table.replace_schema_metadata(marks),
            temporary,
            compression="zstd",
            compression_level=_LEVEL,
            use_dictionary=False,
            write_statistics=False,
            data_page_size=2**30,
        )


def read_published(file: Path) -> Published:
    """The content of the file; raises `FedbenchError` if it is not as it was written.

    Names are checked: none leads out of the folder that the file belongs in.
    """
    table = _table(file)
    rows: list[_Row] = [*zip(*(column.to_pylist() for column in table.columns), strict=True)]
    if _checksum(rows).encode() != (table.schema.metadata or {}).get(_CHECKSUM):
        raise FedbenchError(f"{file}: its content is not what was written; {_AGAIN}")
    content: dict[Thing, dict[str, bytes]] = {}
    for name, kind, owner, bytes_ in rows:
        _require_names(name, kind, owner, file)
        files = content.setdefault(Thing(Kind(kind), owner), {})
        if name in files:
            raise FedbenchError(f"{file}: {name} of {kind} {owner} is there twice; {_AGAIN}")
        files[name] = bytes_
    return content


def _rows(content: Published) -> list[_Row]:
    return sorted(
        (name, thing.kind.value, thing.name, bytes_)
        for thing, files in content.items()
        for name, bytes_ in files.items()
    )


def _checksum(rows: Iterable[_Row]) -> str:
    """The sha256 of all rows; the length of each content keeps neighbours apart."""
    digest = hashlib.sha256()
    for name, kind, owner, bytes_ in rows:
        digest.update(f"{name} {kind} {owner} {len(bytes_)} ".encode())
        digest.update(bytes_)
    return digest.hexdigest()


def _table(file: Path) -> pa.Table:
    """The table in the file, which has the columns of a published one and no gaps."""
    try:
        table = read_arrow(file.read_bytes())
        table.validate(full=True)  # text in UTF-8
    except Exception as error:  # a damaged file fails in as many ways as it has parts
        raise FedbenchError(f"{file}: cannot be read ({short(error)}); {_AGAIN}") from None
    written = (table.schema.metadata or {}).get(_FORMAT)
    if written is None or not table.schema.equals(_SCHEMA):
        raise FedbenchError(
            f"{file}: no file that `fedbench export` wrote; one has the columns "
            f"{', '.join(_COLUMNS)}"
        )
    if written != _VERSION:
        raise FedbenchError(f"{file}: written by another version of fedbench; use that one")
    return table


def _require_names(name: str, kind: str, owner: str, file: Path) -> None:
    if kind not in [*Kind]:
        raise FedbenchError(
            f"{file}: kind = {kind!r} is not allowed; choose from {', '.join(Kind)}"
        )
    require_name(kind, owner, file)
    require_name("file", name, file)

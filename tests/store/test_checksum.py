"""A checksum of values: the same however they are stored, another one for any other value."""

import pyarrow as pa
import pytest

from fedbench.store.parquet_frames import table_checksum
from fedbench.store.run import with_checksum

TABLE = pa.table({"round": [1, 2], "loss": [0.5, None], "word": ["a", "b"], "yes": [True, False]})


def changed(name, values):
    place = TABLE.column_names.index(name)
    return TABLE.set_column(place, name, values if isinstance(values, pa.Array) else [values])


def test_it_is_the_same_in_every_version():
    assert table_checksum(TABLE)[:12] == "87f1636acd09"


@pytest.mark.parametrize(
    "same",
    [
        changed("round", pa.array([1, 2], pa.int32())),
        changed("loss", pa.array([0.5, float("nan")], pa.float32())),
        changed("word", pa.array(["a", "b"], pa.large_string())),
        changed("word", pa.array(["a", "b"]).dictionary_encode()),
        pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1)]),
        TABLE.replace_schema_metadata({"by": "another version"}),
    ],
)
def test_how_values_are_stored_changes_nothing(same):
    assert table_checksum(same) == table_checksum(TABLE)


@pytest.mark.parametrize(
    "other",
    [
        changed("round", [1, 3]),
        changed("round", [1, None]),
        changed("round", [1.0, 2.0]),
        changed("loss", [0.5 + 2**-52, None]),
        changed("loss", [0.5, 0.0]),
        changed("word", ["a", None]),
        changed("yes", [1, 0]),
        TABLE.select(["loss", "round", "word", "yes"]),
        TABLE.rename_columns(["round", "losses", "word", "yes"]),
        TABLE.slice(1),
    ],
)
def test_any_other_value_name_kind_or_order_is_another(other):
    assert table_checksum(other) != table_checksum(TABLE)


def test_a_record_holds_its_own_checksum_as_its_last_field():
    record = with_checksum({"checksum": "old", "id": "a"})
    assert [*record] == ["id", "checksum"]
    assert with_checksum(record) == record

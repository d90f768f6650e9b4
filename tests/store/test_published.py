"""Published tables: pandas reads them, all comes back as it was, and no damage is missed."""

import json
from dataclasses import replace

import pandas as pd
import pyarrow as pa
import pytest

import fedbench
from fedbench import RunSpec
from fedbench.base import registry
from fedbench.base.errors import FedbenchError
from fedbench.spec import NUMERICS
from fedbench.spec.numerics_versions import ALWAYS
from fedbench.store.parquet_frames import read_arrow, write_small
from fedbench.store.published import (
    Published,
    PublishedRun,
    read_published,
    write_published,
)

NAN = float("nan")


def run(spec, accuracy, **tables):
    """A run of two rounds, the second of which had this accuracy."""
    record = {
        **{"id": spec.id, "status": "finished", "rounds": 2, "settings": spec.settings()},
        **{"resolved": spec.model_dump(mode="json"), "seconds": {"train": 1.5, "server": 0.25}},
        **{"data": {"name": "digits", "checksum": "ab"}, "floats": {"down": 20, "up": 10}},
        **{"sample_passes": 8, "device": "cpu"},
    }
    rounds = {"round": [1, 2], "loss": [0.1, 0.5], "accuracy": [0.25, accuracy]}
    rounds["train_seconds"] = [0.7, 0.8]
    made = {"rounds": rounds, "clients": {"client": [0], "label": [7], "count": [3]}, **tables}
    arrow = {name: pa.table(columns) for name, columns in made.items()}
    return PublishedRun(record, arrow, {"rounds.parquet": "0" * 64})


AVG = RunSpec(clients=4)
PROX = RunSpec(clients=4, seed=1, parts=[{"fedprox": {"mu": 0.25}}])
CONTENT = Published(
    runs={
        AVG.id: run(AVG, 0.1, paths={"label": ["x", None], "empty": [None, NAN]}),
        PROX.id: run(PROX, NAN, nothing={"step": pa.array([], pa.int64())}),
    },
    searches={"0123456789ab": {"chosen": {"lr": 1.0}, "trials": [{"lr": 1.0, "score": 0.5}]}},
    data={"digits": {"name": "digits", "train": 3, "checksum": "ab"}},
)
ROLES = {PROX.id: ("FedProx", True)}


@pytest.fixture
def files(tmp_path):
    return write_published(CONTENT, tmp_path / "tiny", "2026-11-27", ROLES)


@pytest.fixture
def file(files):
    return files[-1]


def test_what_is_read_is_what_was_written(file):
    read = read_published(file)
    assert (read.searches, read.data) == (CONTENT.searches, CONTENT.data)
    assert read.runs.keys() == CONTENT.runs.keys()
    for key, there in CONTENT.runs.items():
        assert read.runs[key].record == there.record
        assert [*read.runs[key].record] == [*there.record]
        assert read.runs[key].files == there.files
        assert read.runs[key].tables.keys() == there.tables.keys()
        for name, table in there.tables.items():
            assert read.runs[key].tables[name].schema == table.schema
            assert read.runs[key].tables[name].to_pydict().keys() == table.to_pydict().keys()
            pd.testing.assert_frame_equal(
                read.runs[key].tables[name].to_pandas(), table.to_pandas(), check_exact=True
            )


def test_the_runs_of_a_file_are_rows_that_pandas_reads(file):
    runs = pd.read_parquet(file).set_index("run_id")
    avg, prox = runs.loc[AVG.id], runs.loc[PROX.id]
    assert (avg["paper"], avg["method"], avg["dataset"], avg["seed"]) == (
        "tiny",
        "fedavg",
        "digits",
        0,
    )
    assert (prox["method"], prox["trial"], prox["fedprox.mu"]) == ("FedProx", True, 0.25)
    assert (avg["accuracy_final"], avg["loss_final"], avg["rounds_trained"]) == (0.1, 0.5, 2)
    assert (avg["seconds"], avg["floats.up"], avg["clients"], avg["rounds"]) == (1.75, 10, 4, 10)
    assert json.loads(avg["files"]) == {"rounds.parquet": "0" * 64}


def test_a_run_whose_outputs_were_not_finite_hit_no_class(tmp_path):
    lost = run(AVG, 0.1)
    rounds = lost.tables["rounds"].to_pydict() | {"loss": [0.1, float("inf")]}
    lost = replace(lost, tables={**lost.tables, "rounds": pa.table(rounds)})
    *_, file = write_published(Published({AVG.id: lost}), tmp_path, "2026-11-27", {})
    assert pd.read_parquet(file)["accuracy_final"].tolist() == [0.0]


def test_tables_are_joined_over_papers_and_days(files, tmp_path):
    other = RunSpec(clients=5)
    content = Published({other.id: run(other, 0.9, steps={"step": [4]})})
    write_published(content, tmp_path / "other", "2026-11-28", {})
    runs = fedbench.published(folder=tmp_path)
    assert dict(zip(runs["run_id"], runs["paper"], strict=True)) == {
        **{other.id: "other", AVG.id: "tiny", PROX.id: "tiny"}
    }
    rounds = fedbench.published("rounds", tmp_path).set_index(["run_id", "round"])
    assert rounds["accuracy"].loc[(other.id, 2)] == 0.9
    assert len(rounds) == 6
    clients = fedbench.published("clients", tmp_path)
    assert [*clients] == ["run_id", "client", "label", "count"]
    assert len(clients) == 3
    assert fedbench.published("probes", tmp_path)["probe"].value_counts().to_dict() == {
        **{"clients": 3, "paths": 2, "steps": 1}
    }
    assert fedbench.published("searches", tmp_path)["chosen.lr"].tolist() == [1.0]
    assert fedbench.published("data", tmp_path)["train"].tolist() == [3]


def test_runs_of_code_that_has_changed_since_are_marked(files, tmp_path, monkeypatch):
    ids = (AVG.id, PROX.id)
    constants = registry.find("method", "fedprox").constants
    monkeypatch.setitem(constants, "numerics", {ALWAYS: NUMERICS + 1})
    runs = fedbench.published("runs", tmp_path).set_index("run_id")
    assert runs["outdated"].to_dict() == dict(zip(ids, (False, True), strict=True))


def test_a_table_that_nobody_published_is_one_sentence(tmp_path, files, refuses):
    with refuses("no table 'spectrum' is published; tables: runs, rounds"):
        fedbench.published("spectrum", tmp_path)


def test_equal_exports_have_equal_names_and_bytes(files, tmp_path):
    again = write_published(CONTENT, tmp_path / "again/tiny", "2026-11-27", ROLES)
    assert [each.name for each in again] == [each.name for each in files]
    assert [each.read_bytes() for each in again] == [each.read_bytes() for each in files]
    kinds = [each.name.split("-")[0] for each in files]
    assert kinds == ["rounds", "probes", "searches", "data", "runs"]


@pytest.mark.parametrize(
    "part", [{"searches": {}}, {"data": {}}, {"runs": {AVG.id: run(AVG, 0.3)}}]
)
def test_another_content_has_another_name(file, tmp_path, part):
    *_, other = write_published(replace(CONTENT, **part), tmp_path / "tiny", "2026-11-27", ROLES)
    assert other.name != file.name


def test_an_export_of_a_winner_alone_is_read_again(tmp_path):
    content = Published(searches=CONTENT.searches)
    *_, file = write_published(content, tmp_path, "2026-11-27", {})
    assert read_published(file) == content


@pytest.mark.parametrize("kind", ["rounds", "probes", "searches", "data"])
def test_a_table_that_is_missing_is_one_sentence(files, file, refuses, kind):
    next(each for each in files if each.name.startswith(kind)).unlink()
    with refuses(f"{file}: .*take another copy of it"):
        read_published(file)


@pytest.mark.parametrize("kind", ["runs", "rounds", "probes", "searches", "data"])
def test_a_changed_value_is_one_sentence(files, file, refuses, kind):
    place = next(each for each in files if each.name.startswith(kind))
    table = read_arrow(place.read_bytes())
    column = {
        "runs": "seed",
        "rounds": "loss",
        "probes": "count",
        "searches": "trials",
        "data": "train",
    }
    name = column[kind]
    values = [None if value is None else value + 1 for value in table[name].to_pylist()]
    changed = table.set_column(table.column_names.index(name), name, [values])
    write_small(changed, place, {"fedbench.format": "2"})
    with refuses(f"{file}: .*take another copy of it"):
        read_published(file)


def test_a_cut_file_is_one_sentence(files, file, refuses):
    for place in files:
        whole = place.read_bytes()
        for length in (0, 3, len(whole) // 2, len(whole) - 1):
            place.write_bytes(whole[:length])
            with refuses(f"{place}: cannot be read .*take another copy"):
                read_published(file)
        place.write_bytes(whole)


def test_a_flipped_bit_is_noticed_or_changes_nothing(files, file):
    place = files[0]
    whole, noticed = place.read_bytes(), 0
    for at in range(0, len(whole), 7):
        place.write_bytes(whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1 :])
        try:
            assert read_published(file).runs[AVG.id].checksum == CONTENT.runs[AVG.id].checksum
        except FedbenchError:
            noticed += 1
    assert noticed > len(whole) / 7 / 5  # the rest of this tiny file describes it without need


def test_a_file_of_another_version_is_one_sentence(file, refuses):
    table = read_arrow(file.read_bytes())
    write_small(table, file, {"fedbench.format": "3"})
    with refuses(f"{file}: written by another version of fedbench"):
        read_published(file)
    old = file.with_name("tiny.parquet")
    write_small(table, old, {"fedbench.format": "1"})
    with refuses("tiny.parquet: is no file `runs-.* of fedbench 0.1 is restored with that version"):
        read_published(old)


def test_a_column_of_numbers_here_and_of_words_there_comes_back(tmp_path):
    both = Published(
        {
            AVG.id: run(AVG, 0.1, a={"at": [1, 2**60]}, b={"at": ["x"]}),
            PROX.id: run(PROX, 0.1, a={"at": [0.1, 1 / 3]}),
        }
    )
    *_, file = write_published(both, tmp_path, "2026-11-27", {})
    read = read_published(file).runs
    assert read[AVG.id].tables["a"].to_pydict() == {"at": [1, 2**60]}
    assert read[PROX.id].tables["a"].to_pydict() == {"at": [0.1, 1 / 3]}


def test_columns_of_a_clock_are_no_numbers_of_a_run():
    one, slower = run(AVG, NAN), run(AVG, NAN)
    later = {"round": [1, 2], "loss": [0.1, 0.5], "accuracy": [0.25, NAN], "train_seconds": [9, 9]}
    slower = replace(slower, tables={**slower.tables, "rounds": pa.table(later)})
    slower = replace(slower, record={**slower.record, "seconds": {"train": 18.0}})
    assert one.same_numbers(slower)
    assert one.checksum != slower.checksum
    assert not one.same_numbers(run(AVG, 0.6))
    assert not one.same_numbers(replace(one, tables={"rounds": one.tables["rounds"]}))


def test_rows_of_a_run_that_two_papers_share_are_there_once(files, tmp_path):
    write_published(Published({AVG.id: CONTENT.runs[AVG.id]}), tmp_path / "other", "2026-11-28", {})
    assert fedbench.published("runs", str(tmp_path))["paper"].tolist() == ["other", "tiny", "tiny"]
    assert (
        fedbench.published("rounds", str(tmp_path))["run_id"].tolist()
        == [AVG.id] * 2 + [PROX.id] * 2
    )
    assert len(fedbench.published("paths", str(tmp_path))) == 2

"""What one record, or the facts of a data set, say of a file is true of all runs on its arrays."""

import json
from pathlib import Path
from typing import Any

import pytest

from fedbench.base.errors import FedbenchError
from fedbench.store import Results, origins, read_facts, write_facts

NOTE = "98 of the 60,000 images are JPEG copies"


def record(**data: str) -> dict[str, Any]:
    return {"data": {"name": "cifar10", **data}}


def facts(folder: Path, text: str) -> Results:
    results = Results(folder)
    results.data("cifar10").parent.mkdir()
    results.data("cifar10").write_text(text)
    return results


def test_what_one_record_says_of_a_file_is_said_of_all_its_runs(tmp_path: Path) -> None:
    # the first run was trained before the note was known; the third has other arrays
    older, newer = record(checksum="ab"), record(checksum="ab", deviation=NOTE)
    other, nameless = record(checksum="cd"), record(source="made")
    told_of = origins(Results(tmp_path), [older, newer, other, nameless])
    assert told_of(older)["data"] == told_of(newer)["data"]
    assert told_of(older)["data"]["deviation"] == NOTE
    assert "deviation" not in told_of(other)["data"]
    assert told_of(nameless)["data"] == {"name": "cifar10", "source": "made"}


def test_facts_that_were_changed_are_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "digits.json"
    write_facts(file, {"largest": 37, "checksum": "ab"})
    assert read_facts(file) == {"largest": 37, "checksum": "ab"}
    file.write_text(file.read_text().replace("37", "300"))
    with pytest.raises(FedbenchError, match=r"digits.json: .*changed, by its checksum.*; delete"):
        read_facts(file)


def test_the_facts_of_a_data_set_say_it_of_runs_none_of_which_does(tmp_path: Path) -> None:
    text = json.dumps({"name": "cifar10", "checksum": "ab", "origin": {"deviation": NOTE}})
    told_of = origins(facts(tmp_path, text), [record(checksum="ab")])
    assert told_of(record(checksum="ab"))["data"]["deviation"] == NOTE
    assert "deviation" not in told_of(record(checksum="cd"))["data"]


def test_equal_arrays_keep_their_own_name_and_no_folder_of_a_machine(tmp_path: Path) -> None:
    first = {"data": {"name": "pets", "file": "/home/one/pets.npz", "checksum": "ab"}}
    second = {"data": {"name": "cats", "file": "/srv/two/pets.npz", "checksum": "ab"}}
    told_of = origins(Results(tmp_path), [first, second])
    assert told_of(second)["data"] == {"name": "cats", "file": "pets.npz", "checksum": "ab"}


def test_damaged_facts_are_named(tmp_path: Path) -> None:
    with pytest.raises(FedbenchError, match=r"cifar10\.json: not valid JSON"):
        origins(facts(tmp_path, "{"), [])

"""A damaged record or history is refused in a sentence that names the file and the field."""

import json

import pandas as pd
import pytest

from fedbench.base.errors import FedbenchError
from fedbench.jobs.collect import collect
from fedbench.spec import RunSpec
from tests.engine.records import record

RUN = RunSpec(rounds=2)
RECORD = record(RUN)
HISTORY = pd.DataFrame({"round": [1, 2], "accuracy": [0.1, 0.2]})


def refusal(tmp_path, found=RECORD, history=HISTORY):
    folder = tmp_path / "runs" / RUN.id
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(found))
    history.to_parquet(folder / "rounds.parquet")
    with pytest.raises(FedbenchError) as caught:
        collect([RUN], tmp_path)
    return str(caught.value).replace(f"{folder}/", "")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"resolved": None}, "run.json: not a run's record (resolved = None is not allowed"),
        ({"resolved": {"roundz": 2}}, "run.json: resolved: no field in RunSpec 'roundz'; did you"),
        ({"data": 3}, "run.json: not a run's record (data = 3 is not allowed"),
        ({"data": {"name": 3}}, "run.json: not a run's record (data.name = 3 is not allowed"),
        ({"files": [1]}, "run.json: not a run's record (files = [1] is not allowed"),
        ({"id": "x"}, "run.json: is the record of run x"),
        ({"rounds": 3}, "rounds.parquet: ends at round 2, but run.json says 3"),
    ],
)
def test_a_record(tmp_path, change, words):
    assert refusal(tmp_path, RECORD | change).startswith(words)


def test_damaged_settings_name_the_way_out(tmp_path):
    assert refusal(tmp_path, RECORD | {"resolved": {"lr": "x"}}).endswith(
        f"; delete the folder {tmp_path / 'runs' / RUN.id} to train the run again"
    )


def test_a_record_without_what_a_search_chose(tmp_path):
    plain = {name: value for name, value in RECORD.items() if name != "resolved"}
    words = "run.json: not a run's record (resolved is missing); delete the folder"
    assert refusal(tmp_path, plain).startswith(words)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"accuracy": "high"}, "rounds.parquet: column 'accuracy' has no numbers"),
        ({"round": ["one", "two"]}, "rounds.parquet: column 'round' has no numbers"),
        ({"round": 2}, "rounds.parquet: round 2 is there twice"),
    ],
)
def test_a_history(tmp_path, change, words):
    assert refusal(tmp_path, history=HISTORY.assign(**change)).startswith(words)


def test_a_history_without_rounds(tmp_path):
    assert refusal(tmp_path, history=HISTORY[["accuracy"]]).startswith(
        "rounds.parquet: no column 'round'"
    )

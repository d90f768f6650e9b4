"""What is written of measured numbers, on numbers that one can check by hand."""

import json
import sys

import compare
import pytest
from speed import environments, turns
from speed.process import Command, Measured, MeasurementError, summary
from speed.report import table, write
from speed.sections import declared, passes
from speed.turns import Row, Spread, paired

from fedbench import Cost


def test_a_spread_is_the_median_between_its_quartiles():
    assert Spread.of([1, 2, 3, 4, 10]) == Spread(2, 3, 4)
    assert Spread.of([7.0]) == Spread(7, 7, 7)


def test_a_ratio_is_taken_in_each_repeat():
    # ratios 2, 1/2, 2: the ratio of the medians would be 1
    assert paired([2, 1, 4], [1, 2, 2]).median == 2


def test_seconds_per_round_of_two_processes_are_shared():
    reports = [
        {"ends": [10.0, 12.0, 14.0], "peak_bytes": 5},
        {"ends": [11.0, 13.0, 18.0], "peak_bytes": 7},
    ]
    found = summary(reports, startup=3.0)
    assert found.seconds == 2.0  # 8 seconds, from 10 to 18, for 4 rounds
    assert found.peak_bytes == 7


def fake(log):
    """Measures nothing: 'a' takes 1 second per round, 'b' 2, and 'c' fails."""

    def run(command):
        log.append(command.label)
        if command.label == "c":
            raise MeasurementError("no such module")
        return Measured({"a": 1.0, "b": 2.0}[command.label], 0.5, 100, [])

    return run


def test_commands_are_measured_in_turn():
    log = []
    commands = [Command("a", "m"), Command("b", "m")]
    rows = list(turns.rows("W1", commands, {"b": ("a",)}, 3, fake(log)))
    assert log == ["a", "b"] * 3
    assert rows[1].ratios == {"a": Spread(2, 2, 2)}
    assert rows[1].repeats == [2.0, 2.0, 2.0]


def test_a_command_that_fails_or_is_missing_says_why_and_stops_no_other():
    log = []
    commands = [Command("c", "m"), Command("d", "m", missing="not installed"), Command("a", "m")]
    rows = list(turns.rows("W1", commands, {"a": ("c", "d")}, 2, fake(log)))
    assert log == ["c", "a", "a"]
    assert [row.note for row in rows] == ["no such module", "not installed", ""]
    assert rows[2].ratios == {}


def test_declared_passes_count_three_for_a_step_of_fedavg():
    twice = Cost(forward=1, backward=1)  # such as FedSAM's second gradient
    teacher = Cost(forward=1, teachers=1)
    assert declared([]) == 1
    assert declared([twice]) == 2
    assert declared([twice, teacher]) == pytest.approx(7 / 3)
    assert passes([twice, teacher]) == "2 forward (1 through teachers), 1 backward"
    assert passes([Cost()]) == ""


ROWS = [
    Row("W1", "bare loop", Spread(0.2, 0.25, 0.3), startup=4.0, peak_bytes=5_000_000),
    Row("W1", "fedbench", Spread(0.1, 0.125, 0.15), ratios={"bare loop": Spread(0.4, 0.5, 0.6)}),
    Row("W1", "Flower", note="not installed"),
]


def test_the_table_has_medians_quartiles_and_reasons():
    text = table(ROWS, {"machine": "one core"})
    assert "* machine: one core" in text
    assert "| bare loop | 0.25 (0.2–0.3) |  | 4.0 | 5 |  |" in text
    assert "| fedbench | 0.125 (0.1–0.15) | 0.5 (0.4–0.6) |  |  |  |" in text
    assert "| Flower |  |  |  |  | not installed |" in text


def test_the_three_files_are_written(tmp_path):
    write(tmp_path, ROWS, {"machine": "one core"})
    found = json.loads((tmp_path / "speed.json").read_text())
    assert found["rows"][1]["ratios"]["bare loop"]["median"] == 0.5
    picture = (tmp_path / "speed.svg").read_text()
    assert "fedbench" in picture
    assert "Flower" not in picture
    write(tmp_path, ROWS, {"machine": "one core"})
    assert (tmp_path / "speed.svg").read_text() == picture


def test_a_peer_is_measured_where_its_environment_is(tmp_path, monkeypatch):
    monkeypatch.setattr(environments, "_FOLDER", tmp_path)
    assert environments.missing("fedlab") == "not installed"
    (tmp_path / "fedlab/bin").mkdir(parents=True)
    (tmp_path / "fedlab/bin/python").touch()
    assert environments.missing("fedlab") == ""
    assert environments.title("fedlab") == "FedLab 1.3.0"


def test_an_unknown_section_is_refused_with_those_that_exist(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["compare.py", "--only", "W6"])
    with pytest.raises(SystemExit) as left:
        compare.main()
    assert left.value.code == 2
    assert "'W6' is none of W1, W2, W3, W4, W5, peers, nets, methods" in capsys.readouterr().err

"""How far the runs of a plan have come: counts, seconds per run and seconds left, by hand."""

import os

import pytest

from fedbench.jobs.status import COMMAND, Watcher, again, at_the_end, duration, lost
from fedbench.jobs.workflow_start_and_end import let_retry
from fedbench.plan.cost import Speeds
from fedbench.store import Results, note_failure, signs_of_life
from tests.jobs.four_runs import IDS, SPECS, SPEEDS, finish, plan
from tests.plan.bare import bare_plan


@pytest.fixture
def watcher(tmp_path):
    return Watcher(plan(one=tuple(IDS[:3]), two=tuple(IDS[2:])), tmp_path, SPEEDS)


def test_before_any_run_the_expected_seconds_are_left(watcher):
    seen = watcher.look()
    assert seen.everything.runs == 4
    assert seen.everything.left == pytest.approx(4)
    assert seen.papers["one"].left == pytest.approx(3)
    assert seen.seconds_left is None  # nothing trains


def test_what_is_left_follows_from_how_fast_the_first_runs_were(watcher, tmp_path):
    finish(tmp_path, IDS[0], 3.0)
    finish(tmp_path, IDS[2], 5.0, "diverged")
    with signs_of_life(Results(tmp_path).run(IDS[1])):
        seen = watcher.look()
    assert seen.everything.complete == 2
    assert seen.everything.seconds_per_run == pytest.approx(4)
    assert seen.everything.left == pytest.approx(8)  # two runs, four times as slow as expected
    assert seen.seconds_left == pytest.approx(8)  # one process
    assert list(seen.running) == [IDS[1]]
    assert seen.papers["two"].complete == 1  # the run that both papers share


def test_a_process_that_loads_or_chooses_at_the_moment_is_counted_on(watcher, tmp_path):
    folders = Results(tmp_path)
    with signs_of_life(folders.run(IDS[0])):
        with signs_of_life(folders.run(IDS[1])):
            assert watcher.look().seconds_left == pytest.approx(4 / 2)
        assert watcher.look().seconds_left == pytest.approx(4 / 2)  # one trains, two did


def test_the_rest_of_a_running_run_is_left(watcher, tmp_path, monkeypatch):
    monkeypatch.setattr("fedbench.store.run_states._PAUSE", 0.0)
    with signs_of_life(Results(tmp_path).run(IDS[0])) as beat:
        beat(8)
        assert watcher.look().everything.left == pytest.approx(3.2)


def test_a_failed_run_is_named_with_its_reason_and_the_way_out(watcher, tmp_path):
    note_failure(Results(tmp_path).run(IDS[3]), ValueError("no memory"))
    assert watcher.look().everything.left == pytest.approx(3)
    stopped = list(at_the_end(watcher.look(), "snakemake --cores all", "demo"))
    assert stopped[0] == "1 of 4 runs failed; 3 are not done yet:"
    for run_id in IDS[:3]:
        finish(tmp_path, run_id, 1.0)
    said = list(at_the_end(watcher.look(), "snakemake --cores all", "demo"))
    assert said[0] == "1 of 4 runs failed; the report is built without them:"
    file = tmp_path / "runs" / IDS[3] / "error.txt"
    assert said[1] == f"  {IDS[3]}: ValueError: no memory (traceback: {file})"
    assert said[2] == "To train them again: snakemake --cores all"


def test_the_command_that_lists_all_failed_runs_names_their_scale(tmp_path):
    planned = bare_plan([SPECS[0].changed(seed=seed) for seed in range(8)])
    for run_id in planned.runs:
        note_failure(Results(tmp_path).run(run_id), ValueError("no memory"))
    said = list(at_the_end(Watcher(planned, tmp_path, Speeds()).look(), "snakemake", "paper"))
    assert said[6] == "  and 3 more"
    assert "fedbench status --scale paper" in said[7]


def test_nothing_is_said_where_all_is_done(watcher, tmp_path):
    for run_id in IDS:
        finish(tmp_path, run_id, 1.0)
    assert list(at_the_end(watcher.look(), "snakemake", "demo")) == []


def test_a_complete_run_is_read_once(watcher, tmp_path):
    finish(tmp_path, IDS[0], 3.0)
    watcher.look()
    (tmp_path / "runs" / IDS[0] / "run.json").unlink()
    assert watcher.look().everything.complete == 1


def test_the_folder_of_a_failed_run_gets_newer_than_its_stamp_and_its_winner_goes(tmp_path):
    results, four = Results(tmp_path), plan()
    finish(tmp_path, IDS[0], 1.0)
    finish(tmp_path, IDS[1], 1.0)
    stamps = [results.stamp(run_id) for run_id in IDS[:2]]
    for file in (*stamps, results.winner("0123")):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    for file in (*stamps, *(stamp.parent for stamp in stamps)):
        os.utime(file, (1_000, 1_000))
    let_retry(four, Watcher(four, tmp_path, SPEEDS).look(), tmp_path)
    assert stamps[0].parent.stat().st_mtime == 1_000
    assert results.winner("0123").exists()
    (stamps[0].parent / "run.json").unlink()
    note_failure(results.run(IDS[0]), ValueError("no memory"))
    os.utime(stamps[0].parent, (1_000, 1_000))
    let_retry(four, Watcher(four, tmp_path, SPEEDS).look(), tmp_path)
    assert stamps[0].parent.stat().st_mtime > stamps[0].stat().st_mtime == 1_000
    assert stamps[1].parent.stat().st_mtime == 1_000
    assert not results.winner("0123").exists()


def test_runs_without_their_record_are_named_five_at_most():
    assert list(lost([])) == []
    assert list(lost(["a"])) == [
        "Runs to be trained again, since their run.json was deleted:",
        "  a",
    ]
    assert list(lost("abcdefg"))[-2:] == ["  e", "  and 2 more"]


def test_after_a_stop_the_end_says_how_to_go_on(watcher, tmp_path):
    finish(tmp_path, IDS[0], 3.0)
    (line,) = at_the_end(watcher.look(), "snakemake --cores all", "demo")
    assert line == "1 of 4 runs are done. To go on: snakemake --cores all"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (3_540, "59 min"),
        (3_600, "1 h 00 min"),
        (7_500, "2 h 05 min"),
        (172_800, "2 days 00 h"),
        (270_000, "3 days 03 h"),
    ],
)
def test_durations_in_words(seconds, words):
    assert duration(seconds) == words


def test_the_command_that_goes_on_is_the_one_that_was_typed(monkeypatch):
    monkeypatch.delenv(COMMAND, raising=False)
    assert again(["--cores", "2", "a b"]) == "snakemake --cores 2 'a b'"
    monkeypatch.setenv(COMMAND, "fedbench bench --out 'my folder'")
    assert again(["--cores", "all"]) == "fedbench bench --out 'my folder'"

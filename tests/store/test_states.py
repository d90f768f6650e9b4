"""What a run's folder says of the run, at each moment of its life."""

import json
import os
import socket
import subprocess
import sys
import time

import pytest

from fedbench import RunSpec, run
from fedbench.base.errors import FedbenchError
from fedbench.store import (
    CHECKPOINT,
    RunFolder,
    Status,
    failure_file,
    note_failure,
    signs_of_life,
    state,
)

TINY = {"model": {"mlp": {"hidden": 4}}, "clients": 4, "participation": 0.5, "rounds": 2}


def sign(folder, **changes):
    folder.path.mkdir(exist_ok=True)
    known = {"host": socket.gethostname(), "pid": os.getpid(), "at": time.time(), "round": 7}
    (folder.path / "running.json").write_text(json.dumps(known | changes))


@pytest.fixture
def folder(tmp_path):
    return RunFolder(tmp_path / "run")


@pytest.fixture
def ended():
    """The number of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_run_waits_runs_and_is_finished(folder):
    assert state(folder).status is Status.waiting
    with signs_of_life(folder):
        assert state(folder).status is Status.running
    assert state(folder).status is Status.waiting
    record = run(RunSpec(**TINY), out=folder.path).record
    found = state(folder)
    assert found.complete
    assert (found.status, found.round) == (Status.finished, 2)
    assert found.seconds == pytest.approx(sum(record["seconds"].values()))


def test_the_round_is_told_at_most_every_two_seconds(folder, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    with signs_of_life(folder) as beat:
        for round_, at in ((1, 101.0), (2, 102.5), (3, 103.0)):
            now[0] = at
            beat(round_)
        assert state(folder).round == 2


def test_a_run_whose_process_was_killed_has_stopped(folder, ended):
    sign(folder, pid=ended)
    assert state(folder).status is Status.stopped
    assert state(folder).round == 7


def test_a_process_that_has_the_number_of_an_ended_one_does_not_train_its_run(folder):
    sign(folder, began=0.0)  # in 1970
    assert state(folder).status is Status.stopped


@pytest.mark.parametrize(("age", "status"), [(60, Status.running), (3600, Status.stopped)])
def test_another_machine_is_believed_for_half_an_hour(folder, ended, age, status):
    sign(folder, host="elsewhere", pid=ended, at=time.time() - age)
    assert state(folder).status is status


def test_a_run_with_a_checkpoint_and_no_process_has_stopped(folder):
    folder.path.mkdir()
    (folder.path / CHECKPOINT).write_bytes(b"")
    assert state(folder).status is Status.stopped


def test_a_failure_is_one_line_until_it_is_forgotten(folder):
    try:
        raise ValueError("no such\nfile")
    except ValueError as error:
        note_failure(folder, error)
    assert state(folder).status is Status.failed
    error = folder.path / "error.txt"
    assert state(folder).why == f"ValueError: no such (traceback: {error})"
    assert "Traceback" in error.read_text()
    failure_file(folder).unlink()
    assert state(folder).status is Status.waiting


def test_a_sentence_of_ours_is_told_as_it_is(folder):
    note_failure(folder, FedbenchError("spec.yaml: lr = -1 is not allowed"))
    assert state(folder).why == "spec.yaml: lr = -1 is not allowed"


def test_a_run_that_is_trained_again_after_a_failure_runs(folder):
    note_failure(folder, ValueError("once"))
    with signs_of_life(folder):
        assert state(folder).status is Status.running


def test_a_damaged_record_counts_as_failed(folder):
    folder.path.mkdir()
    (folder.path / "run.json").write_text("half a rec")
    assert state(folder).status is Status.failed
    assert "delete the folder" in state(folder).why


@pytest.mark.parametrize("text", ["", "[]", '{"pid": 1}'])
def test_half_a_sign_of_life_is_none(folder, text):
    folder.path.mkdir()
    (folder.path / "running.json").write_text(text)
    assert state(folder).status is Status.waiting

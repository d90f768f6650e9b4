"""One process trains a run at a time, and what a killed one left half-written goes."""

import multiprocessing
import os
import signal
import threading
import time

import pytest
from typer.testing import CliRunner

from fedbench import Machine, RunSpec
from fedbench.__main__ import app
from fedbench.base.files import atomic
from fedbench.base.signals import Stopped, stoppable
from fedbench.core.tensors_on_disk import Spill
from fedbench.jobs.train import train
from fedbench.store import CHECKPOINT, RunFolder, locked

FORK = multiprocessing.get_context("fork")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "run").mkdir()
    return RunFolder(tmp_path / "run")


def hold(folder, line):
    with locked(folder):
        line.send("held")
        line.recv()


@pytest.fixture
def other(folder):
    """Another process that holds the folder; `other()` lets it end."""
    mine, its = FORK.Pipe()
    process = FORK.Process(target=hold, args=(folder, its))
    process.start()
    mine.recv()
    yield process, lambda: mine.send("end")
    process.kill()
    process.join()


def test_a_second_process_waits_and_says_so(folder, other):
    said = []

    def say(line):
        said.append(line)
        other[1]()

    with locked(folder, say):
        other[0].join()
    assert said == [f"{folder.path}: another process trains this run; waiting until it has ended"]
    assert list(folder.path.iterdir()) == []


def test_a_killed_process_holds_nothing(folder, other):
    os.kill(other[0].pid, signal.SIGKILL)
    other[0].join()
    with locked(folder, pytest.fail):
        pass


def test_who_waits_can_be_stopped(folder, other):
    def stop(_):
        os.kill(os.getpid(), signal.SIGTERM)

    words = "while another process trained the run"
    with pytest.raises(Stopped, match=words), stoppable(), locked(folder, stop):
        pytest.fail("the folder was not free")


def test_the_same_process_may_enter_twice(folder):
    with locked(folder), locked(folder, pytest.fail):
        assert (folder.path / ".lock").exists()


def half_a_checkpoint(folder):
    with atomic(folder.path / CHECKPOINT) as temporary:
        temporary.write_bytes(b"half")
        os.kill(os.getpid(), signal.SIGKILL)


def test_what_a_killed_process_had_half_written_is_deleted(folder):
    (folder.path / CHECKPOINT).write_bytes(b"whole")
    process = FORK.Process(target=half_a_checkpoint, args=(folder,))
    process.start()
    process.join()
    (left,) = folder.path.glob(".*")
    assert left.name.startswith(f".{CHECKPOINT}.")
    with locked(folder):
        assert [file.name for file in sorted(folder.path.iterdir())] == [".lock", CHECKPOINT]


def test_the_files_of_a_living_process_stay(folder, other):
    left = folder.path / f".{CHECKPOINT}.abc.part"
    left.write_bytes(b"half")
    waiting = threading.Event()
    thread = threading.Thread(target=enter, args=(folder, waiting))
    thread.start()
    waiting.wait()
    assert left.exists()
    other[1]()
    thread.join()
    assert not left.exists()


def enter(folder, waiting):
    with locked(folder, lambda _: waiting.set()):
        pass


def spill_and_wait(line):
    spill = Spill(1e-12)
    (spill.folder / "states").write_bytes(b"large")
    line.send("spilt")
    time.sleep(60)


def test_states_of_a_killed_process_are_deleted_and_those_of_a_living_one_stay(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    processes = []
    for _ in range(2):
        mine, its = FORK.Pipe()
        processes.append(FORK.Process(target=spill_and_wait, args=(its,)))
        processes[-1].start()
        mine.recv()
    killed, living = processes
    killed.kill()
    killed.join()
    spill = Spill(1e-12)
    own = spill.folder
    assert len(list(tmp_path.glob("*/states"))) == 1
    assert len([each for each in tmp_path.iterdir() if each.is_dir()]) == 2
    living.kill()
    living.join()
    del spill
    assert not own.exists()


def test_a_folder_that_cannot_be_locked_is_used_all_the_same(folder, monkeypatch):
    def missing(*_, **__):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", missing)
    with locked(folder, pytest.fail):
        pass


def train_and_tell(results, spec, line):
    said = []
    train({spec.id: spec}, [spec.id], results, Machine("cpu", 1), None, said.append)
    line.send(said[-1])


def test_a_run_that_two_processes_were_asked_for_is_trained_once(tmp_path):
    spec = RunSpec(model={"mlp": {"hidden": 4}}, clients=4, rounds=40)
    lines = []
    for _ in range(2):
        mine, its = FORK.Pipe()
        FORK.Process(target=train_and_tell, args=(tmp_path, spec, its)).start()
        lines.append(mine)
    first, second = sorted(line.recv() for line in lines)
    assert "finished at round 40" in first
    assert second.endswith("finished before")


def type_run(folder, line):
    done = CliRunner().invoke(app, ["run", f"{folder}/run.yaml", "--out", f"{folder}/run"])
    line.send((done.exit_code, done.output))


def test_a_run_that_was_typed_twice_is_finished_for_both(tmp_path):
    (tmp_path / "run.yaml").write_text("{model: {mlp: {hidden: 4}}, clients: 4, rounds: 40}")
    lines = []
    for _ in range(2):
        mine, its = FORK.Pipe()
        FORK.Process(target=type_run, args=(tmp_path, its)).start()
        lines.append(mine)
    codes, said = zip(*(line.recv() for line in lines), strict=True)
    assert codes == (0, 0)
    assert sorted("is finished already; see" in each for each in said) == [False, True]

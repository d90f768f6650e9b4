"""A batch of runs: what they share, and what is said of one whose method has a mistake."""

import signal

import pytest

from fedbench.base.errors import FedbenchError
from fedbench.base.signals import Stopped
from fedbench.data.sources.digits_and_points import Digits, Toy
from fedbench.engine.machine import Machine
from fedbench.jobs import train
from fedbench.spec import RunSpec
from fedbench.store import CHECKPOINT, Results, Status, note_failure, state

SPEC = RunSpec(model={"mlp": {"hidden": 2}}, clients=2, rounds=1)
RUNS = {SPEC.id: SPEC}


def test_runs_on_the_same_data_load_it_once_and_end_as_if_alone(tmp_path, monkeypatch):
    loaded = []
    for source in (Digits, Toy):

        def load(self, folder, load=source.load):
            loaded.append(type(self).__name__)
            return load(self, folder)

        monkeypatch.setattr(source, "load", load)
    toy = {"dataset": "toy", "partition": "iid"}
    specs = [SPEC, SPEC.changed(seed=1), SPEC.changed(**toy), SPEC.changed(seed=2)]
    runs = {spec.id: spec for spec in specs}
    assert train.train(runs, [*runs], tmp_path / "together", Machine("cpu"), None, print) == []
    assert loaded == ["Digits", "Toy", "Digits"]  # one at a time is held in memory
    for run_id in runs:
        train.train(runs, [run_id], tmp_path / "alone", Machine("cpu"), None, print)
        one, other = (
            Results(tmp_path / name).run(run_id).history() for name in ("together", "alone")
        )
        assert one["loss"].tolist() == other["loss"].tolist()
    assert len(loaded) == 3 + 4


def test_the_log_names_the_file_with_the_traceback(tmp_path, monkeypatch):
    def broken(*args, **options):
        raise AttributeError("'Tensor' object has no attribute 'foo'")

    monkeypatch.setattr(train, "run", broken)
    said = []
    assert train.train(RUNS, [SPEC.id], tmp_path, Machine("cpu"), None, said.append) == [SPEC.id]
    file = Results(tmp_path).run(SPEC.id).path / "error.txt"
    assert said[-1].endswith(f"failed: 'Tensor' object has no attribute 'foo' (traceback: {file})")
    assert "in broken" in file.read_text()


def test_a_run_that_failed_and_was_stopped_in_its_second_try_counts_as_stopped(
    tmp_path, monkeypatch
):
    def stopped(*args, out, **options):
        (out / CHECKPOINT).touch()
        raise Stopped(signal.SIGTERM, "after round 1 of 2")

    folder = Results(tmp_path).run(SPEC.id)
    folder.path.mkdir(parents=True)
    note_failure(folder, FedbenchError("no memory"))
    monkeypatch.setattr(train, "run", stopped)
    with pytest.raises(Stopped):
        train.train(RUNS, [SPEC.id], tmp_path, Machine("cpu"), None, print)
    assert (state(folder).status, state(folder).why) == (Status.stopped, "")


def test_a_device_that_is_not_here_is_no_fault_of_the_runs(refuses, tmp_path):
    with refuses(r"device = 'cuda:99' cannot be used here"):
        train.train(RUNS, [SPEC.id], tmp_path, Machine("cuda:99"), None, print)
    assert not Results(tmp_path).run(SPEC.id).path.exists()

"""A run that kills its process has failed; the others of its job are trained all the same."""

import os
import signal
import subprocess
import sys

import pandas as pd
import pytest

from fedbench.base.errors import FedbenchError
from fedbench.engine.machine import Machine
from fedbench.jobs.train import train, train_in_child
from fedbench.store import Results, Status, failure_file, note_failure, signs_of_life, state
from tests.engine.records import record
from tests.jobs.four_runs import IDS, SPECS, plan
from tests.jobs.four_runs import finish as finish_one


def finish(results, run_id):
    """Leave the record of a finished run."""
    finish_one(results, run_id, 1.0)


def working(results, deeds):
    """Work that does to each run what `deeds` says, else finishes it."""

    def work(run_ids):
        for run_id in run_ids:
            folder = Results(results).run(run_id)
            with signs_of_life(folder):
                deeds.get(run_id, lambda: None)()
            if run_id in deeds:
                note_failure(folder, FedbenchError("as usual"))
            else:
                finish(results, run_id)
        return [run_id for run_id in run_ids if run_id in deeds]

    return work


def by(number):
    return lambda: os.kill(os.getpid(), number)


def status(results, run_id):
    return state(Results(results).run(run_id)).status


@pytest.fixture(autouse=True)
def _folders(tmp_path):
    for run_id in IDS:
        Results(tmp_path).run(run_id).path.mkdir(parents=True)


def test_all_is_well(tmp_path):
    assert train_in_child(working(tmp_path, {}), IDS, tmp_path) == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGBUS])
def test_a_run_that_kills_its_process_is_blamed_and_the_next_are_trained(tmp_path, number):
    work = working(tmp_path, {IDS[1]: by(number)})
    assert train_in_child(work, IDS, tmp_path) == 3
    assert status(tmp_path, IDS[1]) is Status.failed
    assert [status(tmp_path, each) for each in IDS if each != IDS[1]] == [Status.finished] * 3
    why = state(Results(tmp_path).run(IDS[1])).why
    assert why.startswith(f"its process was ended by {signal.Signals(number).name}")
    assert ("memory runs out" in why) == (number == signal.SIGKILL)


def test_two_killers_in_one_job(tmp_path):
    deeds = {IDS[0]: by(signal.SIGKILL), IDS[3]: by(signal.SIGKILL)}
    assert train_in_child(working(tmp_path, deeds), IDS, tmp_path) == 3
    assert [status(tmp_path, each).value for each in IDS] == [
        *("failed", "finished", "finished", "failed")
    ]


def test_a_run_that_fails_beside_one_that_kills_its_process(tmp_path):
    deeds = {IDS[0]: by(signal.SIGKILL), IDS[2]: lambda: None}
    assert train_in_child(working(tmp_path, deeds), IDS, tmp_path) == 3
    assert [status(tmp_path, each).value for each in IDS] == [
        *("failed", "finished", "failed", "finished")
    ]


def test_a_finished_run_whose_table_was_cut_short_has_failed(tmp_path):
    folder = Results(tmp_path).run(IDS[0])
    folder.finish(record(SPECS[0]), pd.DataFrame({"round": [10]}), {}, {})
    (folder.path / "rounds.parquet").write_bytes(b"PAR1")
    schedule = plan(one=tuple(IDS[:1]))

    def work(run_ids):
        return train(schedule.runs, run_ids, tmp_path, Machine("cpu"), None)

    assert train_in_child(work, IDS[:1], tmp_path) == 3
    assert "rounds.parquet: is not the file that the run wrote" in failure_file(folder).read_text()


def test_what_concerns_no_run_alone_is_one_sentence(tmp_path, capfd):
    def work(_):
        raise FedbenchError("live: no tracker 'mlfow'; did you mean 'mlflow'?")

    assert train_in_child(work, IDS, tmp_path) == 2
    assert capfd.readouterr().err == "error: live: no tracker 'mlfow'; did you mean 'mlflow'?\n"


def test_a_stop_is_no_failure(tmp_path):
    def work(_):
        raise SystemExit(143)

    assert train_in_child(work, IDS, tmp_path) == 143
    assert status(tmp_path, IDS[0]) is Status.waiting


def test_a_signal_to_the_parent_reaches_the_child_which_is_not_blamed(tmp_path):
    def deed():
        os.kill(os.getppid(), signal.SIGTERM)
        signal.pause()

    assert train_in_child(working(tmp_path, {IDS[0]: deed}), IDS, tmp_path) == 143
    assert status(tmp_path, IDS[0]) is Status.stopped
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_log_on_a_full_disk_stops_no_run():
    code = (
        "from fedbench.jobs.train import say\n"
        "import sys\n"
        "for line in ('one', 'two'): say(line)\n"
        "sys.stderr.write('on')"
    )
    with open("/dev/full", "w") as full:
        ended = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE)
    assert (ended.returncode, ended.stderr) == (0, b"on")


def test_an_error_that_could_not_be_written_is_no_noted_failure(tmp_path, monkeypatch):
    monkeypatch.setattr("fedbench.store.run_states.write_text", _full)

    def work(run_ids):
        for run_id in run_ids:
            note_failure(Results(tmp_path).run(run_id), ValueError("no space"))
        return run_ids

    assert train_in_child(work, IDS, tmp_path) == 1


def _full(*_):
    raise OSError(28, "No space left on device")

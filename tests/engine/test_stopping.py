"""A signal stops a run after its round, and the run goes on later as if nothing had been."""

import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path

import pandas as pd
import pytest
import torch

from fedbench import RunSpec, run
from fedbench.__main__ import app
from fedbench.base.signals import SIGNALS, Stopped
from fedbench.store import CHECKPOINT

SPEC = RunSpec(model={"mlp": {"hidden": 4}}, clients=4, rounds=4, parts=["scaffold"])


@pytest.fixture(autouse=True)
def _as_from_a_terminal():
    """Signals do what they do by default: `nohup` and a shell's & let a process ignore some."""
    before = {each: signal.getsignal(each) for each in SIGNALS}
    for each in SIGNALS:
        usual = signal.default_int_handler if each == signal.SIGINT else signal.SIG_DFL
        signal.signal(each, usual)
    yield
    for each, handler in before.items():
        signal.signal(each, handler)


def at_round(round_, *signals):
    """What watches a run and sends these signals to its process in that round."""

    def watch(row):
        if row["round"] == round_:
            for each in signals:
                os.kill(os.getpid(), each)

    return watch


def accuracies(history):
    return history["accuracy"].tolist()


@pytest.mark.parametrize(
    ("by", "code"),
    [
        (signal.SIGINT, 130),
        (signal.SIGTERM, 143),
        (signal.SIGUSR1, 138),
        (signal.SIGHUP, 129),
    ],
)
def test_a_signal_stops_after_the_round_and_the_run_goes_on_from_there(
    cpu, tmp_path, capfd, by, code
):
    before = signal.getsignal(by)
    with pytest.raises(Stopped) as stopped:
        run(SPEC, out=tmp_path, machine=cpu, watch=at_round(2, by))
    assert stopped.value.code == code
    said = capfd.readouterr().err
    assert f"stopped by {by.name} after round 2 of 4 of {SPEC.id}; saved in " in said
    assert "start it again in the same way to go on" in said
    assert signal.getsignal(by) is before
    rounds = []
    resumed = run(SPEC, out=tmp_path, machine=cpu, watch=lambda row: rounds.append(row["round"]))
    assert rounds == [3, 4]
    whole = run(SPEC, machine=cpu)
    assert torch.equal(resumed.weights, whole.weights)
    assert accuracies(resumed.history) == accuracies(whole.history)
    assert not (tmp_path / CHECKPOINT).exists()


def test_without_a_folder_the_end_says_that_nothing_was_saved(cpu):
    with pytest.raises(Stopped, match="nothing was saved, as the run has no folder"):
        run(SPEC, machine=cpu, watch=at_round(1, signal.SIGTERM))


def test_a_signal_in_the_last_round_does_not_take_the_result_away(cpu, tmp_path):
    with pytest.raises(KeyboardInterrupt):  # it is for the caller, once the run is written
        run(SPEC, out=tmp_path, machine=cpu, watch=at_round(4, signal.SIGINT))
    assert (tmp_path / "run.json").exists()


def test_the_echo_of_a_signal_is_no_second_one(cpu, tmp_path):
    with pytest.raises(Stopped, match="after round 2"):
        run(SPEC, out=tmp_path, machine=cpu, watch=at_round(2, signal.SIGTERM, signal.SIGTERM))


def test_a_second_signal_stops_at_once(cpu, tmp_path, monkeypatch):
    monkeypatch.setattr("fedbench.base.signals._ECHO", -1.0)
    with pytest.raises(Stopped, match="stopped by SIGINT at once") as stopped:
        run(SPEC, out=tmp_path, machine=cpu, watch=at_round(2, signal.SIGINT, signal.SIGINT))
    assert stopped.value.code == 130
    assert not (tmp_path / CHECKPOINT).exists()


def test_a_handler_of_the_script_itself_is_kept(cpu):
    heard = []
    before = signal.signal(signal.SIGTERM, lambda *_: heard.append("mine"))
    try:
        run(SPEC, machine=cpu, watch=at_round(2, signal.SIGTERM))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == ["mine"]


def test_in_another_thread_no_handler_is_set(cpu):
    thread = threading.Thread(target=run, args=(SPEC,), kwargs={"machine": cpu})
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_checkpoint_that_cannot_be_written_ends_no_run(cpu, tmp_path, monkeypatch):
    from fedbench import Machine
    from fedbench.engine import checkpoint

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "save_checkpoint", full)
    often = Machine(device="cpu", workers=1, checkpoint_minutes=1e-9)
    with pytest.warns(
        UserWarning, match=r"checkpoint\.pt: could not be saved \(OSError: \[Errno 28"
    ):
        assert run(SPEC, out=tmp_path, machine=often).status == "finished"


def test_the_command_ends_with_the_exit_code_and_goes_on(tmp_path, capfd):
    """`fedbench run` in a process of its own, stopped once it has saved a checkpoint."""
    spec = tmp_path / "spec.yaml"
    spec.write_text("model: {mlp: {hidden: 4}}\nclients: 4\nrounds: 100000\n")
    command = ["run", str(spec), "--out", str(tmp_path / "run"), "--checkpoint-minutes", "1e-4"]
    process = multiprocessing.get_context("fork").Process(target=app, args=(command,))
    process.start()
    wait_for(tmp_path / "run" / CHECKPOINT)
    process.terminate()
    process.join()
    assert process.exitcode == 143
    assert capfd.readouterr().err.splitlines()[-1].startswith("stopped by SIGTERM after round ")


def wait_for(file: Path, seconds: float = 60):
    end = time.monotonic() + seconds
    while not file.exists():
        assert time.monotonic() < end, f"{file} was not written"
        time.sleep(0.02)


def test_the_tables_are_those_of_an_undisturbed_run(cpu, tmp_path):
    with pytest.raises(Stopped):
        run(SPEC, out=tmp_path / "a", machine=cpu, watch=at_round(3, signal.SIGTERM))
    run(SPEC, out=tmp_path / "a", machine=cpu)
    run(SPEC, out=tmp_path / "b", machine=cpu)
    a, b = (pd.read_parquet(tmp_path / x / "rounds.parquet") for x in "ab")
    same = [name for name in a if not name.endswith("_seconds")]
    pd.testing.assert_frame_equal(a[same], b[same])
    first, second = ((tmp_path / x / "clients.parquet").read_bytes() for x in "ab")
    assert first == second

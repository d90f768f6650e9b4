"""Clients of small networks train in worker processes: the same bits, and no process is left."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
import torch

from fedbench import Machine, RunSpec, Training, run
from fedbench.base.errors import FedbenchError
from fedbench.engine.assemble import assemble

SPEC = RunSpec(model={"mlp": {"hidden": 128}}, clients=8, participation=0.5, rounds=2, batch=100)


def training(workers=3, spec=SPEC):
    machine = Machine(device="cpu", workers=workers)
    return Training(spec, machine)


def children():
    return [each for each in psutil.Process().children() if each.status() != psutil.STATUS_ZOMBIE]


def forks(made):
    return [worker.process for worker in made.workers._processes._workers]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"parts": ["scaffold"]},
        {"parts": ["feddyn", "moon"], "projection": 8},
        {"parts": ["mfl"]},
        {"momentum": 0.9, "weight_decay": 1e-3},
        {"precision": "float64", "model": {"mlp": {"hidden": 8}}},
        {"precision": "bfloat16"},
    ],
)
def test_any_number_of_processes_gives_the_same_bits(settings):
    spec = RunSpec(**{"clients": 8, "participation": 0.5, "rounds": 2, "batch": 100, **settings})
    ways = [training(workers, spec) for workers in (1, 2, 4)]
    one, two, four = (way.run() for way in ways)
    assert ways[0].workers._processes is None
    assert [len(forks(way)) for way in ways[1:]] == [1, 3]  # beside this process
    for other in (two, four):
        assert torch.equal(one.weights, other.weights)
        assert one.history["train_loss"].equals(other.history["train_loss"])


def test_they_end_with_the_run():
    before = {each.pid for each in children()}
    run(SPEC, machine=Machine(device="cpu", workers=3))
    deadline = time.monotonic() + 10
    while {each.pid for each in children()} - before:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_process_that_is_killed_ends_the_run_in_a_sentence():
    made = training()
    made.round()
    lost, other = forks(made)
    os.kill(lost.pid, signal.SIGKILL)
    lost.join()
    with pytest.raises(FedbenchError, match="a worker process was ended by the system"):
        made.round()
    other.join(timeout=10)
    assert not other.is_alive()


@pytest.mark.parametrize("here", [True, False])
def test_an_error_in_a_process_is_raised_as_it_is(here, monkeypatch):
    made, process = training(), os.getpid()
    train = made.workers._processes._train

    def fails(group):
        if (os.getpid() == process) == here:
            raise ArithmeticError("no loss")
        return train(group)

    monkeypatch.setattr(made.workers._processes, "_train", fails)
    before = {each.pid for each in children()}
    with pytest.raises(ArithmeticError, match="no loss"):
        made.round()
    assert not {each.pid for each in children()} - before


def test_a_signal_to_all_lets_the_round_end():
    """Ctrl-C reaches every process of a terminal's group."""
    made = training()
    made.round()
    for each in forks(made):
        os.kill(each.pid, signal.SIGINT)
    made.round()
    assert made.over


def test_they_end_when_their_parent_is_killed():
    code = (
        "from tests.engine.test_processes import forks, training\n"
        "import time\n"
        "made = training()\n"
        "made.round()\n"
        "print(*[each.pid for each in forks(made)], flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) == 2
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 10
    while any(psutil.pid_exists(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_users_code_large_networks_and_one_worker_train_in_threads():
    lenet = SPEC.changed(model={"lenet5": {"padding": 2}})
    assert training(2, lenet).workers._processes is None
    machine = Machine(device="cpu", workers=2)

    def loss(z, y):
        return torch.nn.functional.cross_entropy(z, y, reduction="none")

    own = Training(assemble(SPEC, {"loss": loss}, machine, None), machine)
    assert own.workers._processes is None


def test_where_a_fork_may_not_be_made_threads_train(monkeypatch):
    """Processes of a pool have no children; beside a GPU PyTorch refuses gradients in forks."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_has_none)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert training().workers._processes is None


def _has_none():
    made = training()
    made.round()
    return made.workers._processes is None


def test_a_process_that_is_stopped_ends_with_them():
    """Python ends the children of a process with SIGTERM, which these leave to their parent."""

    def stopped():
        made = training()
        made.round()
        raise SystemExit(130)

    process = multiprocessing.get_context("fork").Process(target=stopped)
    process.start()
    process.join(timeout=30)
    assert process.exitcode == 130

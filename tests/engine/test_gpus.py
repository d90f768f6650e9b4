"""The jobs of a machine with several GPUs spread over them; the lists of GPUs are made up."""

import os
import signal

import pytest
import torch

from fedbench import Machine
from fedbench.base import processes
from fedbench.engine import machine as gpus


@pytest.fixture
def sees(monkeypatch, tmp_path):
    """Says how many GPUs there are, and which of the machine's; nobody has taken one yet."""

    def seen(count, visible=""):
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)

    monkeypatch.setattr(gpus.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(processes, "_held", [])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "set_device", lambda gpu: None)
    monkeypatch.setattr(torch, "empty", lambda *size, device: None)
    gpus.own_gpu.cache_clear()
    yield seen
    gpus.own_gpu.cache_clear()


@pytest.fixture
def start():
    """Starts a process that takes a GPU and holds it until its end; returns its number and GPU."""
    running = []

    def started():
        out, into = os.pipe()
        job = os.fork()
        if not job:
            machine = Machine(device="auto")
            taken = {str(machine.torch_device()) for _ in range(3)}
            os.write(into, " ".join(taken).encode())
            signal.pause()
        running.append(job)
        os.close(into)
        with os.fdopen(out) as file:
            return job, os.read(file.fileno(), 100).decode()

    yield started
    for job in running:
        _kill(job)


def _kill(job):
    try:
        os.kill(job, signal.SIGKILL)
        os.waitpid(job, 0)
    except (ProcessLookupError, ChildProcessError):  # it was killed before
        pass


def test_jobs_spread_over_the_gpus_and_one_that_ends_leaves_its_own_free(sees, start):
    sees(2)
    begun = [start() for _ in range(3)]
    assert [gpu for _, gpu in begun] == ["cuda:0", "cuda:1", "cuda:0"]
    _kill(begun[1][0])
    assert [start()[1] for _ in range(2)] == ["cuda:1", "cuda:1"]


def test_jobs_that_see_different_gpus_count_those_that_they_share(sees, start):
    for count, visible, taken in (
        (2, "4,5", "cuda:0"),  # of the machine it is number 4
        (2, "5,4", "cuda:0"),  # number 5
        (3, "4,5,6", "cuda:2"),
        (1, "4", "cuda"),
    ):
        sees(count, visible)
        assert start()[1] == taken


def test_the_device_that_is_asked_for_by_number_is_taken(sees):
    sees(4)
    assert Machine(device="cuda:3").torch_device() == torch.device("cuda:3")
    assert Machine(device="cuda").torch_device() == torch.device("cuda:0")
    assert Machine(device="cpu").torch_device() == torch.device("cpu")


def test_without_locks_all_take_the_first(sees, monkeypatch):
    def none(self):
        raise NotImplementedError

    sees(2)
    monkeypatch.setattr(processes.FileLock, "acquire", none)
    assert Machine(device="cuda").torch_device() == torch.device("cuda:0")

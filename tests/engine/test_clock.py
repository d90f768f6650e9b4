"""The clock of a run's phases: seconds on a CPU, events on a GPU, and no waiting for the GPU."""

from collections import Counter

import pytest
import torch

from fedbench import Machine, RunSpec
from fedbench.engine import machine
from fedbench.engine.assemble import assemble
from fedbench.engine.machine import Clock
from fedbench.engine.training import Training
from tests.methods.protocol import METHODS, declared


def test_seconds_of_phases_add_up(monkeypatch):
    times = iter([10.0, 12.0, 20.0, 25.0, 30.0, 31.0])
    monkeypatch.setattr(machine.time, "perf_counter", lambda: next(times))
    found, seconds = Clock(torch.device("cpu")), {"train": 0.5, "server": 0.0}
    for phase in ("train", "server", "train"):
        with found.phase(phase):
            pass
    found.settle(seconds)
    found.settle(seconds)  # nothing new
    assert seconds == {"train": 3.5, "server": 5.0}


class Event:
    """Stands in for an event of a GPU, which is 1,000 ms behind at each recording."""

    recorded, waited = 0, 0

    def __init__(self, enable_timing):
        assert enable_timing

    def record(self, stream):
        assert stream == torch.device("cuda", 1)
        Event.recorded += 1
        self.at = 1000.0 * Event.recorded

    def synchronize(self):
        Event.waited += 1

    def elapsed_time(self, other):
        return other.at - self.at


def test_a_gpu_is_waited_for_when_the_round_has_ended(monkeypatch):
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: device)  # in its own words
    found, seconds = Clock(torch.device("cuda", 1)), {"train": 0.0}
    with found.phase("train"):
        pass
    assert (Event.recorded, Event.waited) == (2, 0)
    found.settle(seconds)
    assert (seconds, Event.waited) == ({"train": 1.0}, 1)


# --- what would wait for a GPU ------------------------------------------------------------------

READS = ("item", "tolist", "cpu", "numpy", "nonzero", "__bool__", "__float__", "__int__")


@pytest.fixture
def reads(monkeypatch):
    """How often tensors were read by Python, by the name of the call."""
    counted = Counter()

    def counting(name):
        read = getattr(torch.Tensor, name)

        def call(self, *args, **kwargs):
            counted[name] += 1
            return read(self, *args, **kwargs)

        monkeypatch.setattr(torch.Tensor, name, call)

    for name in READS:
        counting(name)
    return counted


MORE = {"fedgen": {"cpu": 1}}  # the server draws classes, on the CPU, by how often they occur


@pytest.mark.parametrize("name", METHODS)
def test_a_round_without_evaluation_reads_the_device_once(name, reads):
    settings = {"clients": 4, "participation": 0.5, "rounds": 3, "eval_every": 3}
    settings |= {"model": {"lenet5": {"padding": 2}}, "validation": 0.2}
    spec = RunSpec(**settings | declared(name, "NEEDS"), parts=[name])
    run = Training(
        assemble(spec, {}, Machine(device="cpu", workers=1), None), Machine(device="cpu", workers=1)
    )
    run.round()  # what is read once per run
    reads.clear()
    run.round()
    assert reads == {"tolist": 1} | MORE.get(name, {})

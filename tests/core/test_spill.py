"""Large states live on disk, and nothing notices."""

from collections import namedtuple

import torch

from fedbench import Machine, RunSpec, run
from fedbench.core import tensors_on_disk
from fedbench.core.tensors_on_disk import Spill
from fedbench.engine.checkpoint import ClientStates


def test_a_table_is_zero_and_writable_in_memory_and_on_disk():
    for limit in (1.0, 1e-12):
        table = Spill(limit).table(3, torch.zeros(2, dtype=torch.float64))
        assert table.tolist() == [[0, 0]] * 3
        table[1] = torch.tensor([5.0, 6.0])
        assert table.sum().item() == 11
        assert table.dtype == torch.float64


def test_a_table_that_the_disk_cannot_hold_is_refused_at_once(refuses, monkeypatch):
    usage = namedtuple("Usage", "free")(47)
    monkeypatch.setattr(tensors_on_disk, "disk_usage", lambda folder: usage)
    with refuses("no room for 3 vectors; set TMPDIR elsewhere"):
        Spill(1e-12).table(3, torch.zeros(2, dtype=torch.float64))


def test_states_beyond_the_limit_come_back_from_files():
    one = 2 * 8 / 1024**3  # room for one state of two float64
    states = ClientStates(Spill(one))
    for client in (4, 2):
        states[client] = [{"v": torch.full((2,), float(client), dtype=torch.float64)}, {}]
    assert sorted(states) == [2, 4]
    assert 3 not in states
    assert len(list(states._spill.folder.iterdir())) == 1
    states[2] = [{"v": torch.full((2,), 7.0, dtype=torch.float64)}, {}]
    assert [float(states[c][0]["v"].sum()) for c in sorted(states)] == [14, 8]
    copy = ClientStates(Spill(1.0))
    copy.update(states)
    assert float(copy[2][0]["v"][0]) == 7


def test_a_run_is_the_same_wherever_its_states_live(cpu):
    spec = RunSpec(parts=[{"mfl": {"buffer": "client_stale"}}], rounds=4, participation=0.5)
    memory = run(spec, machine=cpu)
    disk = run(spec, machine=Machine(device="cpu", state_gb=1e-9))
    assert torch.equal(memory.weights, disk.weights)


def test_what_a_checkpoint_brings_back_goes_where_there_is_room():
    tensor = torch.arange(6.0).view(3, 2)
    for limit in (1.0, 1e-12):
        spill = Spill(limit)
        assert torch.equal(spill.keep(tensor), tensor)
        assert spill.keep(tensor[:0]).shape == (0, 2)  # as before a first row is added
        assert ("folder" in vars(spill)) == (limit != 1.0)

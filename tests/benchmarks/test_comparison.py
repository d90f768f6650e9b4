"""The comparison is fair: equal networks, equal batches, equal weights, equal work."""

import time
from dataclasses import replace

import pytest
import torch
from speed import environments, ours
from speed.bare import BareLoop
from speed.process import bare, measure
from speed.sections import Effort, _peer
from speed.workload import IMAGES, WORKLOADS, Plain, Workload

TINY = {"clients": 5, "samples": 20, "cohort": 2, "batch": 8}


@pytest.mark.parametrize("name", ["W1", "W3", "W4", "W5", "RN8"])
def test_the_bare_loop_ends_with_the_weights_of_fedbench(name):
    workload = replace(WORKLOADS[name], **TINY)
    run, loop = ours.training(workload, workers=1), BareLoop(workload, ours.architecture(workload))
    start = torch.nn.utils.parameters_to_vector(loop.weights)
    for _ in range(2):
        run.round()
        loop.round()
    by_hand = torch.nn.utils.parameters_to_vector(loop.weights)
    assert (by_hand - start).norm() > 1e-3
    torch.testing.assert_close(run.progress.global_model.w, by_hand, rtol=0, atol=2e-6)


@pytest.mark.parametrize("name", ["W1", "W2", "W3", "W4", "W5"])
def test_the_peers_train_the_network_of_fedbench(name):
    workload = replace(WORKLOADS[name], **TINY)
    module, plain = ours.architecture(workload), Plain(name)
    weights = torch.nn.utils.parameters_to_vector(module.parameters())
    torch.nn.utils.vector_to_parameters(weights, plain.parameters())
    x = workload.images()[0][:4]
    torch.testing.assert_close(plain(x), module(x.float() / 255))


def test_clients_have_samples_of_their_own_while_there_are_enough():
    workload = Workload("lenet5", clients=10_000)
    assert workload.rows(0) == slice(0, 500)
    assert workload.rows(119) == slice(59_500, IMAGES)
    assert workload.rows(120) == workload.rows(0)


def test_two_processes_begin_their_timed_rounds_when_both_are_ready():
    settings, before = {"workload": "W1", "change": TINY, "rounds": 2}, time.monotonic()
    measured = measure(bare("two at once", copies=2, **settings))
    ready = before + measured.startup  # of both; one alone would have been ready earlier
    assert min(report["ends"][0] for report in measured.reports) > ready
    assert [len(report["ends"]) for report in measured.reports] == [3, 3]
    assert measured.startup > 0
    assert measured.peak_bytes > 1e8


@pytest.mark.parametrize("peer", environments.PEERS)
def test_a_peer_trains_on_as_many_samples_as_fedbench(peer):
    if reason := environments.missing(peer):
        pytest.skip(f"{environments.PEERS[peer]}: {reason}")
    command, _ = _peer(peer, {"workload": "W1", "rounds": Effort(1).rounds(1)})
    report = measure(command).reports[0]
    untimed = 2 if peer == "flower" else 1
    assert report["samples"] == (untimed + 1) * 10 * 500

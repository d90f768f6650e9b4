"""Centralised: a run of one client, whatever else is given."""

import pytest

from fedbench import Machine, RunSpec, run

EXTRA = []
NEUTRAL = [{}]  # of one client it is FedAvg
CPU = Machine(device="cpu", workers=1)


def test_one_run_stands_for_all_partitions():
    skewed = RunSpec(
        parts=["centralised"], clients=20, participation=0.2, partition={"dp": {"delta": 0.1}},
        sampler="bernoulli", weights="samples", work={"stragglers": {"share": 0.5}},
    )  # fmt: skip
    assert skewed.id == RunSpec(parts=["centralised"]).id
    assert (skewed.clients, skewed.participation, skewed.partition.name) == (1, 1.0, "iid")
    assert skewed.changed(clients=7).clients == 1


def test_it_is_fedavg_of_one_client():
    settings = {"epochs": 2, "rounds": 2, "momentum": 0.5, "data_seed": 3}
    alone = run(RunSpec(parts=["centralised"], clients=9, **settings), machine=CPU)
    plain = RunSpec(clients=1, participation=1.0, partition="iid", **settings)
    assert (alone.weights == run(plain, machine=CPU).weights).all()
    assert alone.history["sample_passes"].iloc[-1] == 4 * 1442


@pytest.mark.parametrize("parts", [["centralised", "fedprox"], [{"fedprox": {}}, "centralised"]])
def test_parts_beside_it_see_one_client(parts):
    assert RunSpec(parts=parts, clients=9).clients == 1

"""Partitions of one's own: whole users beside held-out data, clients that overlap, unused data."""

import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from fedbench import Dataset, Partition, RunSpec, run
from fedbench.cli.partition_summary import Preview
from fedbench.data.partition import Unused, draw_partition, hold_out
from fedbench.engine.assemble import assemble
from fedbench.jobs.collect import collect
from fedbench.report.values.collected_frames import texts
from tests.few import few_digits
from tests.jobs.made_runs import finish

USERS = np.random.default_rng(1).integers(5, size=240)  # whose each of the few digits is


@dataclass(frozen=True)
class ByUser(Partition):
    """One client for each user."""

    def split(self, labels, clients, rng, rows):
        return [np.flatnonzero(USERS[rows] == user) for user in range(clients)]


@dataclass(frozen=True)
class InTurn(Partition):
    """Row i of what it is given to client i % K."""

    def split(self, labels, clients, rng):
        return [np.arange(client, len(labels), clients) for client in range(clients)]


@dataclass(frozen=True)
class SaysSo(InTurn):
    """As `InTurn`, and it declares that this is meant."""

    by_labels: ClassVar[bool] = True


@dataclass(frozen=True)
class NotPlaces(Partition):
    """Gives rows of the training set, where places in `labels` are asked for."""

    def split(self, labels, clients, rng, rows):
        return [rows[USERS[rows] == user] for user in range(clients)]


@dataclass(frozen=True)
class Twins(Partition):
    """Clients 0 and 1 hold the same samples."""

    def split(self, labels, clients, rng):
        parts = np.array_split(rng.permutation(len(labels)), clients)
        return [parts[0], *parts[:1], *parts[2:]]


@dataclass(frozen=True)
class Declared(Twins):
    """As `Twins`, and it declares that this is meant."""

    overlap: ClassVar[bool] = True


def drawn(rule, share, clients=5):
    data = few_digits()
    train, out = hold_out(data, share, 0)
    return draw_partition(rule, data, train, clients, 0), out


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_users_stay_whole_beside_held_out_data(share):
    rows, out = drawn(ByUser(), share)
    assert [set(USERS[held]) for held in rows] == [{0}, {1}, {2}, {3}, {4}]
    assert sorted(np.concatenate([*rows, out])) == list(range(240))


def test_a_rule_that_does_not_ask_for_rows_is_refused_with_held_out_data(refuses):
    assert drawn(InTurn(), 0.0)[0][1].tolist() == list(range(1, 240, 5))
    with refuses("InTurn.*cannot know which.*; let split take `rows`.*or write `by_labels = True`"):
        drawn(InTurn(), 0.2)
    assert len(drawn(SaysSo(), 0.2)[0]) == 5


def test_rows_in_place_of_places_are_refused(refuses):
    with refuses("NotPlaces.*outside 0…191; `split` gives places in `labels`, not rows"):
        drawn(NotPlaces(), 0.2)


def test_an_official_validation_set_leaves_all_rows():
    few = few_digits()
    data = Dataset(
        "few", few.x_train, few.y_train, few.x_test, few.y_test, 10,
        x_held_out=few.x_test, y_held_out=few.y_test,
    )  # fmt: skip
    train, _ = hold_out(data, 0.2, 0)
    assert len(draw_partition(InTurn(), data, train, 5, 0)) == 5


def test_clients_that_overlap_are_refused_unless_they_are_meant_to(refuses, cpu):
    with refuses("Twins.*clients 0 and 1 hold the same sample, one of 48 .*`overlap = True`"):
        drawn(Twins(), 0.0)
    assert [len(held) for held in drawn(Declared(), 0.0)[0]] == [48] * 5
    with refuses("partition: clients 0 and 2 hold the same sample, one of 1 with"):
        assemble(
            RunSpec(clients=3),
            {"data": few_digits(), "partition": [[0, 1], [2, 3], [4, 1]]},
            cpu,
            None,
        )


def test_a_preview_counts_shared_samples_once():
    counts = np.array([[3, 0], [3, 0], [0, 2]])  # clients 0 and 1 hold the same three
    found = Preview(RunSpec(clients=3), counts, samples=10, held_out=1, held=5)
    assert (found.facts()["unused"], found.facts()["shared"]) == (4, 3)
    assert found.words()["held again by others"] == "3"
    assert "held again by others" not in Preview(RunSpec(clients=3), counts, 10, 1, 8).words()


def test_what_no_client_holds():
    assert Unused.of([np.array([0, 1]), np.array([1, 2])], 8) == (5, 5 / 8)
    assert Unused(5, 5 / 8).words("d", "iid", 2).startswith("62% of the training samples of d")
    assert not Unused(9, 0.009).words("d", "iid", 10)


def test_unused_data_are_said_when_a_run_starts_and_stand_in_its_record(cpu):
    spec = RunSpec(clients=130, rounds=1, participation=0.01)
    # 240 samples make one for each of 130 clients: 110 are left
    with pytest.warns(UserWarning, match="46% of the training samples of few digits.*130 clients"):
        result = run(spec, data=few_digits(), machine=cpu)
    unused = json.loads(json.dumps(result.record["unused"]))
    assert (unused["samples"], unused["share"]) == (110, 110 / 240)
    assert unused["words"].startswith("46% of the training samples of few digits")
    held_out = assemble(spec.changed(validation=0.2), {"data": few_digits()}, cpu, None)
    assert held_out.unused == (192 - 130, 62 / 192)


def test_unused_data_are_said_on_the_pages_of_such_runs(tmp_path):
    much, little, before = (RunSpec(clients=800, seed=seed) for seed in range(3))
    for spec, left in ((much, Unused(642, 0.445)), (little, Unused(2, 0.001))):
        words = {"words": left.words("digits", "iid", 800)}
        finish(tmp_path, spec, record={"unused": left._asdict() | words})
    finish(tmp_path, before)  # a record of an earlier version
    said = collect([much, little, before], tmp_path).groupby("seed")["substitutes"].first()
    assert said[0] == (
        "44% of the training samples of digits have no client: the partition iid with 800 clients "
        "does not use them."
    )
    assert said[1:].tolist() == ["", ""]
    assert page_count(tmp_path, [much, little, before]) == (said[0],)


def page_count(results, runs):
    """What the head of a page says of the data of the runs."""
    return tuple(sorted({*texts(collect(runs, results), "substitutes").values()}))

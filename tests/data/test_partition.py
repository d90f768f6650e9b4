"""What holds for every partition scheme."""

from dataclasses import dataclass

import numpy as np
import pytest

from fedbench.base import registry
from fedbench.data.partition import Partition, deal, divide
from fedbench.data.partitions.dirichlet import DL, DP, DR, DY
from fedbench.data.partitions.iid_and_shards import IID, SP
from tests.data.partition_cases import balanced, split
from tests.methods.one_weight import line

ALL = [IID(), IID(stratified=True), SP(2), DY(0.5), DY(0.5, "fedadc"), DL(0.5), DP(0.3), DR(0.1)]


def test_every_scheme_is_found_by_name():
    assert {"iid", "sp", "dy", "dl", "dp", "dr"} <= set(registry.entries("partition"))
    assert registry.build("partition", "dy", {"alpha": 0.1, "flavour": "fedadc"}) == DY(
        0.1, "fedadc"
    )


@pytest.mark.parametrize("rule", ALL, ids=str)
def test_same_seed_same_parts_other_seed_other_parts(rule):
    labels = balanced(10, 60)
    first, again, other = (rule(labels, 10, np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert any(not np.array_equal(a, b) for a, b in zip(first, other, strict=True))


@pytest.mark.parametrize("rule", ALL[:-1], ids=str)  # all but DR, which leaves samples out
def test_one_client_gets_everything(rule):
    parts, _ = split(SP(4) if isinstance(rule, SP) else rule, balanced(4, 25), 1)
    assert len(parts[0]) == 100


@pytest.mark.parametrize("rule", [*ALL[2:5], DL(0.1), DP(0.01), DR(0.1)], ids=str)
def test_cifar100_is_dealt_to_a_thousand_clients(rule):
    split(rule, balanced(100, 500), 1000)  # with the checks that hold for every rule


@pytest.mark.parametrize("rule", ALL, ids=str)
@pytest.mark.parametrize("clients", [0, 101])
def test_number_of_clients_must_lie_between_one_and_the_samples(refuses, rule, clients):
    with refuses() as caught:
        rule(balanced(4, 25), clients, np.random.default_rng(0))
    assert f"clients = {clients} is not allowed; it must be 1…100" in str(caught.value)


@pytest.mark.parametrize("rule", ALL[1:], ids=str)
def test_float_labels_have_no_classes(refuses, rule):
    with refuses("dtype float64 have no classes; use 'iid', without `stratified`"):
        rule(np.linspace(0, 1, 100), 4, np.random.default_rng(0))


def test_iid_needs_no_classes():
    parts = IID()(np.linspace(0, 1, 12), 4, np.random.default_rng(0))
    assert sorted(np.concatenate(parts)) == list(range(12))


@pytest.mark.parametrize("make", [DY, DL, DP, DR])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), "0.1", None])
def test_concentration_out_of_range_is_refused(refuses, make, value):
    with refuses("is not allowed; it must be a number ≥ 1e-06, ≤ "):
        make(value)


def test_unknown_flavour_is_refused(refuses):
    with refuses(r"flavour = 'hsu' .* one of yurochkin, fedadc"):
        DY(0.5, "hsu")


def test_deal_hands_out_in_order_and_leaves_the_rest():
    groups = [np.array([5, 1, 9]), np.array([2, 7, 4, 8])]
    parts = deal(groups, np.array([[1, 2], [1, 0]]))
    assert [part.tolist() for part in parts] == [[5, 2, 7], [1]]  # 9, 4 and 8 are left


def test_rows_that_are_given_as_tuples_are_those_of_arrays():
    data = line([0.0, 1.0, 2.0])
    rows = divide(data, [(0, 2), (1,)], 0.0, 2, 0)[2]
    assert [data.y_train[held].tolist() for held in rows] == [[0, 2], [1]]


@dataclass(frozen=True)
class Deals(Partition):
    """Takes what the base class prints, and sorts the labels that it is given."""

    def split(self, labels, clients, rng, *args, **rows):
        labels.sort()
        return np.split(np.arange(len(labels)), clients)


def test_a_rule_changes_no_label_and_says_by_name_what_it_wants(refuses):
    labels = np.array([1, 0, 1, 0])
    Deals()(labels, 2, np.random.default_rng(0))
    assert labels.tolist() == [1, 0, 1, 0]
    with refuses(r"with held-out data it cannot know which samples are left"):
        Deals()(labels, 2, np.random.default_rng(0), rows=np.arange(4))


@dataclass(frozen=True)
class Wants(Partition):
    """Asks for what no rule is given."""

    def split(self, labels, clients, rng, sizes):
        return []


def test_what_a_rule_may_not_ask_for_is_named(refuses):
    with refuses(r"Wants.split: missing a required argument: 'sizes'; .* may take rows, groups"):
        Wants()(np.zeros(4, int), 2, np.random.default_rng(0))

"""DL: divided within groups, cut into equal slices."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fedbench.base.errors import FedbenchError
from fedbench.data.partition import label_counts
from fedbench.data.partitions import dirichlet
from fedbench.data.partitions.dirichlet import DL, _redraw
from fedbench.data.skew_metrics import label_skew
from tests.data.partition_cases import (
    FAST,
    balanced,
    class_sizes,
    concentrations,
    labels_of,
    seeds,
    split,
)

SST5 = [1092, 2218, 1624, 2322, 1288]  # training samples by class


@pytest.fixture(autouse=True)
def few_attempts(monkeypatch):
    """Hopeless draws end at once."""
    monkeypatch.setattr(dirichlet, "_DL_ATTEMPTS", 300)


def attempt(act, *given_):
    """What `act` returns; the example is dropped if no draw served all."""
    try:
        return act(*given_)
    except FedbenchError as refusal:
        assume("draws gave each" not in str(refusal))
        raise


@FAST
@given(
    alpha=concentrations,
    group=st.integers(1, 8),
    sizes=class_sizes,
    clients=st.integers(1, 20),
    seed=seeds,
)
def test_dl_sizes_are_equal_and_fewer_samples_than_clients_unused(
    alpha, group, sizes, clients, seed
):
    assume(clients <= sum(sizes))
    _, counts = attempt(split, DL(alpha, group), labels_of(sizes), clients, seed)
    assert set(counts.sum(axis=1)) == {sum(sizes) // clients}
    assert sum(sizes) - counts.sum() < clients


@FAST
@given(
    alpha=concentrations,
    group=st.integers(1, 8),
    sizes=class_sizes,
    clients=st.integers(1, 20),
    seed=seeds,
)
def test_dl_before_the_cut_groups_share_alike_and_no_client_has_less_than_half(
    alpha, group, sizes, clients, seed
):
    assume(clients <= sum(sizes))
    labels = labels_of(sizes)
    parts = attempt(DL(alpha, group).uncut, labels, clients, np.random.default_rng(seed))
    assert sorted(np.concatenate(parts)) == list(range(sum(sizes)))
    held = [len(part) for part in parts]
    for first in range(0, clients, group):
        own = held[first : first + group]
        assert abs(sum(own) - sum(sizes) * len(own) / clients) < 1
        assert min(own) >= sum(own) // (2 * len(own))


@FAST
@given(alpha=st.sampled_from([0.5, 1.0, 10.0]), group=st.integers(2, 5), seed=seeds)
def test_dl_before_the_cut_full_clients_get_no_more(alpha, group, seed):
    labels = balanced(6, 60)
    for part in DL(alpha, group).uncut(labels, 5, np.random.default_rng(seed)):
        # a single sample may be what rounding left over, which is the last client's
        last = max(c for c in range(6) if np.count_nonzero(labels[part] == c) > 1)
        before = np.count_nonzero(labels[part] < last)  # what it held when it got its last class
        assert before < 360 / 5 + 1


@FAST
@given(alpha=concentrations, group=st.integers(1, 8), seed=seeds)
def test_dl_slices_stand_in_the_order_of_the_uncut_row(alpha, group, seed):
    labels = balanced(8, 40)
    parts = attempt(DL(alpha, group), labels, 9, np.random.default_rng(seed))
    row = np.concatenate(DL(alpha, group).uncut(labels, 9, np.random.default_rng(seed)))
    assert [set(part) for part in parts] == [set(row[35 * i : 35 * (i + 1)]) for i in range(9)]


@pytest.mark.parametrize("seed", range(5))
def test_dl_worked_example_the_middle_class_is_cut_in_two(seed):
    # Undivided, three classes of 4 come to two clients as 8 and 4 (12 and 0 is drawn again). In a
    # row of classes, the cut at 6 goes through the second of the three.
    _, counts = split(DL(1e-6), balanced(3, 4), 2, seed)
    assert sorted(counts.T.tolist()) == [[0, 4], [2, 2], [4, 0]]


def test_dl_worked_example_a_class_each():
    # the first class fills a client (6 of 6), so the second goes to the other: nothing to cut
    _, counts = split(DL(1e-6), balanced(2, 6), 2)
    assert sorted(counts.tolist()) == [[0, 6], [6, 0]]


@pytest.mark.parametrize("seed", range(5))
def test_dl_worked_example_a_sample_each(seed):
    # half of one sample is none, yet the second class cannot go to the client that is full
    _, counts = split(DL(1e-6), np.array([0, 1]), 2, seed)
    assert sorted(counts.tolist()) == [[0, 1], [1, 0]]


def test_dl_groups_of_one_are_a_shuffled_deck():
    _, counts = split(DL(1e-6, group=1), balanced(10, 500), 20)
    # 250 cards of 5,000, 25 of each suit on average: hypergeometric with variance 21.4
    assert np.var(counts) == pytest.approx(250 * 0.1 * 0.9 * 4750 / 4999, rel=0.25)


def test_dl_first_class_of_a_group_is_cut_by_dirichlet_proportions():
    alpha, shares = 20.0, []
    for seed in range(300):
        parts = DL(alpha, group=5).uncut(balanced(2, 2000), 5, np.random.default_rng(seed))
        shares.append(label_counts(balanced(2, 2000), parts, 2)[:, 0] / 2000)
    # Dir(20·1_5): variance of a share is (1/5)(4/5)/(5·20 + 1)
    assert np.var(shares) == pytest.approx(0.16 / 101, rel=0.15)


@pytest.mark.parametrize(
    ("sizes", "clients", "size", "unused"),
    [
        ([4500] * 10, 20, 2250, 0),  # CIFAR-10, 90 % of 50,000
        ([450] * 100, 20, 2250, 0),  # CIFAR-100, 90 %
        ([450] * 200, 20, 4500, 0),  # Tiny-ImageNet, 90 % of 100,000
        ([15_000] * 4, 20, 3000, 0),  # AG News, half of 120,000
        (SST5, 10, 854, 4),
    ],
)
@pytest.mark.parametrize("alpha", [1.0, 0.5, 0.1])
def test_dl_has_the_sizes_of_the_papers_data_sets(monkeypatch, sizes, clients, size, unused, alpha):
    monkeypatch.setattr(dirichlet, "_DL_ATTEMPTS", 100_000)
    _, counts = split(DL(alpha), labels_of(sizes), clients)
    assert set(counts.sum(axis=1)) == {size}
    assert sum(sizes) - counts.sum() == unused


def test_dl_is_the_more_skewed_the_smaller_alpha():
    draws = {
        a: [split(DL(a), balanced(10, 450), 20, s)[1] for s in range(5)] for a in (0.1, 0.5, 1)
    }
    skews = [np.mean([label_skew(counts) for counts in draws[a]]) for a in (0.1, 0.5, 1)]
    assert skews[0] > skews[1] + 0.1 > skews[2] + 0.15
    assert np.mean([np.count_nonzero(counts, axis=1) for counts in draws[0.1]]) < 7


def test_dl_gives_up_with_a_sentence_if_no_draw_serves_all(refuses):
    # two undivided classes cannot serve three clients
    words = r"DL\(alpha=1e-06, group=10\): none of 300 draws gave each of 3 clients 6 or more"
    with refuses(words):
        split(DL(1e-6), balanced(2, 20), 3)


@pytest.mark.parametrize("group", [0, -1, 2.5])
def test_dl_needs_a_group_of_one_or_more(refuses, group):
    with refuses(r"DL: group = .* must be a whole number ≥ 1"):
        DL(0.5, group)


def test_dl_on_two_classes_is_refused_at_once_with_the_way_out(monkeypatch, refuses):
    # of 200,000 such draws 13 gave nine of ten clients enough, and none gave all ten
    monkeypatch.setattr(dirichlet, "_DL_ATTEMPTS", 100_000)
    with refuses("none of 5,000 draws .* 10 clients 500 .*a smaller `group` or .* 'dp' or 'dr'"):
        split(DL(0.1), balanced(2, 5000), 10)
    _, counts = split(DL(0.1, group=2), balanced(2, 5000), 10)
    assert set(counts.sum(axis=1)) == {1000}


def test_draws_that_come_near_are_made_to_the_end():
    """The 12,000th draw is the first that serves both clients; one in 1,000 serves one of them."""
    made = itertools.count(1)

    def draw():
        n = next(made)
        return np.array([[10], [10 if n == 12_000 else 0]]) if n % 1000 == 0 else np.zeros((2, 1))

    assert _redraw(draw, 10, "", 100_000).tolist() == [[10], [10]]
    assert next(made) == 12_001

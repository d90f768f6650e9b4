"""DY: exact cover, both flavours as their authors wrote them."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fedbench import RunSpec
from fedbench.base.errors import FedbenchError
from fedbench.data.partitions.dirichlet import DY, _fedadc
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

LEFT_OVERS = [(100, 0.5, 0.08), (500, 0.1, 0.15), (1000, 0.1, 0.26)]


@FAST
@given(alpha=st.sampled_from([0.5, 1.0, 10.0]), data=st.data(), seed=seeds)
def test_yurochkin_covers_classes_of_any_size(alpha, data, seed):
    sizes = data.draw(st.lists(st.integers(20, 80), min_size=3, max_size=8))
    clients = data.draw(st.integers(1, 5))
    try:
        _, counts = split(DY(alpha), labels_of(sizes), clients, seed)
    except FedbenchError as refusal:
        assume("draws gave each" not in str(refusal))
        raise
    assert counts.sum(axis=0).tolist() == sizes
    assert counts.sum(axis=1).min() >= 10
    # a fair share, one more class, and of each class one sample that rounding left over
    assert counts.sum(axis=1).max() < sum(sizes) / clients + max(sizes) + len(sizes)


@FAST
@given(alpha=st.sampled_from([0.5, 1.0, 10.0, 1e6]), clients=st.integers(1, 8), seed=seeds)
def test_yurochkin_covers_all_with_at_least_ten_and_bounded_sizes(alpha, clients, seed):
    each = 60
    _, counts = split(DY(alpha), balanced(6, each), clients, seed)
    assert counts.sum(axis=0).tolist() == [each] * 6
    assert counts.sum(axis=1).min() >= 10
    assert counts.sum(axis=1).max() <= 6 * each / clients + each


@pytest.mark.parametrize("seed", range(10))
def test_yurochkin_client_with_its_fair_share_gets_no_more_classes(seed):
    # hardly a class is divided; unbalanced, one of two clients would often hold five of six
    _, counts = split(DY(0.02), balanced(6, 60), 2, seed)
    assert counts.sum(axis=1).max() <= 180 + 60


def test_yurochkin_is_uneven_and_skewed_at_a_small_concentration():
    _, counts = split(DY(0.2), balanced(10, 5000), 100)
    assert counts.sum() == 50_000
    assert counts.sum(axis=1).min() < 250
    assert counts.sum(axis=1).max() > 1000
    assert label_skew(split(DY(100.0), balanced(10, 5000), 100)[1]) < 0.1 < label_skew(counts)


def test_yurochkin_first_class_is_cut_by_dirichlet_proportions():
    alpha, clients = 2.0, 5
    shares = [split(DY(alpha), balanced(1, 4000), clients, seed)[1] / 4000 for seed in range(300)]
    # Dir(2·1_5): variance of a share is (1/5)(4/5)/(5·2 + 1)
    assert np.var(shares) == pytest.approx(0.16 / 11, rel=0.15)


@FAST
@given(alpha=concentrations, sizes=class_sizes, clients=st.integers(1, 20), seed=seeds)
def test_fedadc_covers_all_with_at_least_one_sample_each(alpha, sizes, clients, seed):
    assume(clients <= sum(sizes))
    try:
        _, counts = split(DY(alpha, "fedadc"), labels_of(sizes), clients, seed)
    except FedbenchError as refusal:
        assume("draws gave each" not in str(refusal))
        raise
    assert counts.sum(axis=0).tolist() == sizes
    assert counts.sum(axis=1).min() >= 1


@pytest.mark.parametrize(("clients", "alpha", "share"), LEFT_OVERS)
def test_fedadc_left_overs_are_the_printed_share(clients, alpha, share):
    sizes = np.full(100, 500)  # CIFAR-100
    left = []
    for seed in range(3):
        p = np.random.default_rng(seed).dirichlet(np.full(100, alpha), size=clients)
        floors = np.floor(p / p.sum(axis=0) * sizes)
        counts = _fedadc(alpha, sizes, clients, np.random.default_rng(seed))
        extra = (counts - floors).sum(axis=1)
        assert np.all(counts >= floors)
        # in equal chunks, to those whose rounded-down share is in the smaller half
        served = extra > 0
        assert served.sum() == (clients + 1) // 2
        assert np.ptp(extra[served]) <= 1
        assert floors.sum(axis=1)[served].max() <= floors.sum(axis=1)[~served].min()
        left.append(extra.sum() / sizes.sum())
    assert np.mean(left) == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize("seed", range(3))
def test_fedadc_sizes_come_out_near_the_mean(seed):
    _, counts = split(DY(0.1, "fedadc"), balanced(100, 500), 100, seed)
    sizes = counts.sum(axis=1)
    # one draw of the author's library: 414 to 612
    assert 370 < sizes.min() < 450
    assert 540 < sizes.max() < 660
    assert np.count_nonzero(counts, axis=1).mean() < 70


def test_fedadc_left_overs_go_in_equal_chunks_to_the_smaller_half():
    # α → ∞ gives each of 4 clients 2.5 of 10 samples per class: 2 stay, 2 × 2 left-overs are pooled
    _, counts = split(DY(1e6, "fedadc"), balanced(2, 10), 4)
    assert sorted(counts.sum(axis=1)) == [4, 4, 6, 6]


def test_fedadc_rows_follow_the_clients_class_mix():
    _, counts = split(DY(1e-6, "fedadc"), balanced(2, 1000), 20, seed=1)
    # every client asks for a single class; only pooled left-overs bring in the other
    assert np.all(counts.min(axis=1) <= 2)
    assert len(np.unique(counts.argmax(axis=1))) == 2


@pytest.mark.parametrize(
    ("flavour", "labels", "clients"),
    [("yurochkin", balanced(2, 20), 3), ("fedadc", balanced(10, 10), 2)],
)
def test_dy_gives_up_with_a_sentence_if_no_draw_serves_all(refuses, flavour, labels, clients):
    # two classes that are not divided cannot serve three; ten cannot all be asked for by two
    with refuses() as caught:
        split(DY(1e-6, flavour), labels, clients)
    assert f"DY(alpha=1e-06, flavour='{flavour}', least=None): none of 1,000 draws" in str(
        caught.value
    )


def test_dy_refuses_more_clients_than_tens_of_samples(refuses):
    with refuses(r"11 clients need 10 samples each, .* at most 10"):
        split(DY(1.0), balanced(4, 25), 11)


@pytest.mark.parametrize("flavour", ["yurochkin", "fedadc"])
def test_dy_least_is_a_parameter(refuses, flavour):
    labels = balanced(2, 600)
    with refuses("none of 1,000 draws .* a smaller `least` or the partition 'dp' or 'dr'"):
        split(DY(1e-6, flavour, least=240), labels, 5)
    _, counts = split(DY(0.5, flavour, least=20), labels, 20)
    assert counts.sum(axis=1).min() >= 20
    assert (
        DY(flavour=flavour, least=10 if flavour == "yurochkin" else 1)
        .split(labels, 20, np.random.default_rng(3))[7]
        .tolist()
        == DY(flavour=flavour).split(labels, 20, np.random.default_rng(3))[7].tolist()
    )
    assert RunSpec(partition={"dy": {"least": None}}).id == RunSpec(partition="dy").id

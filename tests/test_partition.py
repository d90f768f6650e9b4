"""Every partition scheme: worked examples, the invariants of its definition, and refusals."""

import time

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fedbench import registry
from fedbench.data.mirror import mirror
from fedbench.data.partition import deal
from fedbench.data.partitions.dp import DP, _turns
from fedbench.data.partitions.dr import DR, _round
from fedbench.data.partitions.dy import DY
from fedbench.data.partitions.iid import IID
from fedbench.data.partitions.sp import SP
from fedbench.data.skew import classes_held, client_sizes, label_counts, label_skew
from fedbench.errors import FedbenchError

ALL = [IID(), IID(stratified=True), SP(2), DY(0.5), DY(0.5, "fedadc"), DP(0.3), DR(0.1)]
FAST = settings(max_examples=40, deadline=None)
concentrations = st.sampled_from([1e-6, 0.01, 0.1, 0.5, 1.0, 10.0, 1e6])
seeds = st.integers(0, 2**32 - 1)
class_sizes = st.lists(st.integers(1, 60), min_size=1, max_size=8)


def balanced(classes, each):
    return np.random.default_rng(7).permutation(np.repeat(np.arange(classes), each))


def labels_of(sizes):
    return np.random.default_rng(7).permutation(np.repeat(np.arange(len(sizes)), sizes))


def split(rule, labels, clients, seed=0):
    """The parts and their label counts, after the checks that hold for every scheme."""
    parts = rule(labels, clients, np.random.default_rng(seed))
    assert len(parts) == clients
    assert all(part.dtype == np.int64 and np.all(np.diff(part) > 0) for part in parts)
    used = np.concatenate(parts)
    assert len(np.unique(used)) == len(used)
    assert used.min() >= 0
    assert used.max() < len(labels)
    return parts, label_counts(labels, parts, int(labels.max()) + 1)


# --- shared -------------------------------------------------------------------------------------


def test_every_scheme_is_found_by_name():
    assert {"iid", "sp", "dy", "dp", "dr"} <= set(registry.entries("partition"))
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


@pytest.mark.parametrize("rule", [*ALL[2:4], DP(0.01), DR(0.1)], ids=str)
def test_a_thousand_clients_on_cifar100_take_a_moment(rule):
    start = time.perf_counter()
    split(rule, balanced(100, 500), 1000)
    assert time.perf_counter() - start < 5  # about 0.1 to 0.5; a loaded machine is slower


@pytest.mark.parametrize("rule", ALL, ids=str)
@pytest.mark.parametrize("clients", [0, 101])
def test_number_of_clients_must_lie_between_one_and_the_samples(rule, clients):
    with pytest.raises(FedbenchError) as caught:
        rule(balanced(4, 25), clients, np.random.default_rng(0))
    assert f"clients = {clients} is not allowed; it must be 1…100" in str(caught.value)


@pytest.mark.parametrize("rule", ALL[1:], ids=str)
def test_float_labels_have_no_classes(rule):
    with pytest.raises(FedbenchError, match=r"dtype float64 have no classes .* partition 'iid'"):
        rule(np.linspace(0, 1, 100), 4, np.random.default_rng(0))


def test_iid_needs_no_classes():
    parts = IID()(np.linspace(0, 1, 12), 4, np.random.default_rng(0))
    assert sorted(np.concatenate(parts)) == list(range(12))


@pytest.mark.parametrize("make", [lambda a: DY(a), lambda a: DP(a), lambda a: DR(a)])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), "0.1", None])
def test_concentration_out_of_range_is_refused(make, value):
    with pytest.raises(FedbenchError, match="is not allowed; it must be a number ≥ 1e-06, ≤ "):
        make(value)


def test_unknown_flavour_is_refused():
    with pytest.raises(FedbenchError, match=r"flavour = 'hsu' .* one of yurochkin, fedadc"):
        DY(0.5, "hsu")


def test_deal_hands_out_in_order_and_returns_the_rest():
    groups = [np.array([5, 1, 9]), np.array([2, 7, 4, 8])]
    parts, rest = deal(groups, np.array([[1, 2], [1, 0]]))
    assert [part.tolist() for part in parts] == [[5, 2, 7], [1]]
    assert rest.tolist() == [9, 4, 8]


def test_skew_tables_of_a_worked_example():
    labels = np.array([0, 0, 1, 1, 2, 2])
    counts = label_counts(labels, [np.array([0, 1]), np.array([2, 4, 5])], classes=4)
    assert counts.tolist() == [[2, 0, 0, 0], [0, 1, 2, 0]]
    assert client_sizes(counts).tolist() == [2, 3]
    assert classes_held(counts).tolist() == [1, 2]
    # all: .4 .2 .4 · client 1: |.6|+|.2|+|.4| = 1.2 · client 2: |.4|+|2/15|+|4/15| = 0.8
    assert label_skew(counts) == pytest.approx((1.2 + 0.8) / 2 / 2)
    assert label_skew(np.eye(4, dtype=int)) == pytest.approx(1 - 1 / 4)
    assert label_skew(np.ones((3, 4), int)) == 0


# --- IID ----------------------------------------------------------------------------------------


@FAST
@given(sizes=class_sizes, clients=st.integers(1, 30), seed=seeds)
def test_iid_sizes_are_equal_and_few_samples_unused(sizes, clients, seed):
    assume(clients <= sum(sizes))
    _, counts = split(IID(), labels_of(sizes), clients, seed)
    assert set(client_sizes(counts)) == {sum(sizes) // clients}


@FAST
@given(sizes=class_sizes, clients=st.integers(1, 30), seed=seeds)
def test_stratified_clients_have_the_same_class_counts(sizes, clients, seed):
    assume(clients <= max(sizes))
    _, counts = split(IID(stratified=True), labels_of(sizes), clients, seed)
    assert np.array_equal(counts, np.tile(np.array(sizes) // clients, (clients, 1)))


def test_stratified_refuses_more_clients_than_a_class_has_samples():
    with pytest.raises(FedbenchError, match="largest class has 5 samples, fewer than the 6"):
        split(IID(stratified=True), balanced(4, 5), 6)


# --- SP -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("s", "blocks"), [(2, {250}), (3, {166, 167}), (4, {125}), (10, {50})])
def test_sp_at_the_papers_setting_has_the_printed_block_sizes(s, blocks):
    _, counts = split(SP(s), balanced(10, 5000), 100)
    assert set(counts[counts > 0]) == blocks
    assert set(classes_held(counts)) == {s}
    assert set(np.count_nonzero(counts, axis=0)) == {100 * s // 10}
    assert client_sizes(counts).max() - client_sizes(counts).min() <= s
    assert counts.sum() == 50_000


@FAST
@given(data=st.data(), classes=st.integers(1, 8), seed=seeds)
def test_sp_gives_exactly_s_classes_and_uses_every_sample(data, classes, seed):
    s = data.draw(st.integers(1, classes))
    unit = classes // np.gcd(classes, s)
    clients = data.draw(st.integers(1, 4)) * unit
    blocks = clients * s // classes
    sizes = [data.draw(st.integers(blocks, 3 * blocks + 5)) for _ in range(classes)]
    _, counts = split(SP(s), labels_of(sizes), int(clients), seed)
    assert set(classes_held(counts)) == {s}
    assert counts.sum(axis=0).tolist() == sizes
    for c in range(classes):
        held = counts[:, c][counts[:, c] > 0]
        assert len(held) == blocks
        assert held.max() - held.min() <= 1


@FAST
@given(s=st.integers(1, 6), each=st.integers(12, 40), seed=seeds)
def test_sp_sizes_differ_by_at_most_s_if_classes_are_equal(s, each, seed):
    _, counts = split(SP(s), balanced(6, each), 12, seed)
    assert client_sizes(counts).max() - client_sizes(counts).min() <= s


def test_sp_mixes_all_pairs_of_classes():
    _, counts = split(SP(2), balanced(4, 600), 600)
    pairs = np.unique(counts > 0, axis=0, return_counts=True)[1]
    assert len(pairs) == 6
    assert pairs.min() > 60  # 100 each if pairs are alike


BAD_SP = [
    (SP(5), 4, "SP(s=5): s must be at most 4, the number of classes"),
    (SP(2), 5, "5 clients × 2 blocks cannot be shared equally by 4 classes; clients·s must be a"),
    (SP(4), 26, "26 clients need 26 blocks of every class, but the smallest class has 25 samples"),
]


@pytest.mark.parametrize(("rule", "clients", "sentence"), BAD_SP)
def test_sp_refuses_what_cannot_be_cut(rule, clients, sentence):
    with pytest.raises(FedbenchError) as caught:
        split(rule, balanced(4, 25), clients)
    assert sentence in str(caught.value)


# --- DY -----------------------------------------------------------------------------------------


@FAST
@given(alpha=st.sampled_from([0.5, 1.0, 10.0, 1e6]), clients=st.integers(1, 8), seed=seeds)
def test_yurochkin_covers_all_with_at_least_ten_and_bounded_sizes(alpha, clients, seed):
    each = 60
    _, counts = split(DY(alpha), balanced(6, each), clients, seed)
    assert counts.sum(axis=0).tolist() == [each] * 6
    assert client_sizes(counts).min() >= 10
    assert client_sizes(counts).max() <= 6 * each / clients + each


@pytest.mark.parametrize("seed", range(10))
def test_yurochkin_client_with_its_fair_share_gets_no_more_classes(seed):
    # hardly a class is divided; unbalanced, one of two clients would often hold five of six
    _, counts = split(DY(0.02), balanced(6, 60), 2, seed)
    assert client_sizes(counts).max() <= 180 + 60


def test_yurochkin_is_uneven_and_skewed_at_a_small_concentration():
    _, counts = split(DY(0.2), balanced(10, 5000), 100)
    assert counts.sum() == 50_000
    assert client_sizes(counts).min() < 250
    assert client_sizes(counts).max() > 1000
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
    assert client_sizes(counts).min() >= 1


@pytest.mark.parametrize("seed", range(3))
def test_fedadc_sizes_come_out_near_the_mean(seed):
    _, counts = split(DY(0.1, "fedadc"), balanced(100, 500), 100, seed)
    sizes = client_sizes(counts)
    # one draw of the author's library: 414 to 612
    assert 370 < sizes.min() < 450
    assert 540 < sizes.max() < 660
    assert classes_held(counts).mean() < 70


def test_fedadc_left_overs_go_in_equal_chunks_to_the_smaller_half():
    # α → ∞ gives each of 4 clients 2.5 of 10 samples a class: 2 stay, 2 × 2 left-overs are pooled
    _, counts = split(DY(1e6, "fedadc"), balanced(2, 10), 4)
    assert sorted(client_sizes(counts)) == [4, 4, 6, 6]


def test_fedadc_rows_follow_the_clients_class_mix():
    _, counts = split(DY(1e-6, "fedadc"), balanced(2, 1000), 20, seed=1)
    # every client asks for a single class; only pooled left-overs bring in the other
    assert np.all(counts.min(axis=1) <= 2)
    assert len(np.unique(counts.argmax(axis=1))) == 2


@pytest.mark.parametrize(
    ("flavour", "labels", "clients"),
    [("yurochkin", balanced(2, 20), 3), ("fedadc", balanced(10, 10), 2)],
)
def test_dy_gives_up_with_a_sentence_if_no_draw_serves_all(flavour, labels, clients):
    # two classes that are not divided cannot serve three; ten cannot all be asked for by two
    with pytest.raises(FedbenchError) as caught:
        split(DY(1e-6, flavour), labels, clients)
    assert f"DY(alpha=1e-06, flavour='{flavour}'): none of 1000 draws" in str(caught.value)


def test_dy_refuses_more_clients_than_tens_of_samples():
    with pytest.raises(FedbenchError, match=r"11 clients need 10 samples each, .* at most 10"):
        split(DY(1.0), balanced(4, 25), 11)


# --- DP -----------------------------------------------------------------------------------------


@FAST
@given(delta=concentrations, sizes=class_sizes, clients=st.integers(1, 30), seed=seeds)
def test_dp_fills_every_quota_without_replacement(delta, sizes, clients, seed):
    assume(clients <= sum(sizes))
    _, counts = split(DP(delta), labels_of(sizes), clients, seed)
    assert set(client_sizes(counts)) == {sum(sizes) // clients}


@pytest.mark.parametrize(("clients", "unused"), [(30, 20), (100, 0), (300, 200)])
def test_dp_leaves_the_printed_number_of_samples_unused(clients, unused):
    _, counts = split(DP(0.3), balanced(10, 5000), clients)
    assert 50_000 - counts.sum() == unused


def test_dp_follows_the_priors_while_classes_last():
    # Ten clients share 40 samples of 10,000: no class runs out, so counts are Dirichlet-multinomial
    # with variance q·p(1−p)·(q + A)/(1 + A), q = 1000, A = 4δ, p = 1/4.
    labels, delta = balanced(4, 10_000), 0.5
    runs = [split(DP(delta), labels, 40, seed)[1] for seed in range(20)]
    q, a = 1000, 4 * delta
    assert np.var(runs) == pytest.approx(q * 0.25 * 0.75 * (q + a) / (1 + a), rel=0.2)


def test_dp_turns_pass_among_the_clients_that_are_not_full():
    rng = np.random.default_rng(0)
    turns = np.array([_turns(2, 2, rng) for _ in range(4000)])
    assert np.all(np.sort(turns, axis=1) == [0, 0, 1, 1])
    orders, times = np.unique(turns, axis=0, return_counts=True)
    # a fair coin until one client is full: 0011 and 1100 ¼ each, the other four ⅛ each
    expected = [0.25, 0.125, 0.125, 0.125, 0.125, 0.25]
    assert len(orders) == 6
    assert np.allclose(times / 4000, expected, atol=0.025)


def test_dp_ends_even_if_a_prior_has_no_mass_left():
    _, counts = split(DP(1e-6), balanced(3, 40), 4)
    assert counts.sum(axis=0).tolist() == [40, 40, 40]


# --- DR -----------------------------------------------------------------------------------------


@FAST
@given(alpha=concentrations, sizes=class_sizes, clients=st.integers(1, 20), seed=seeds)
def test_dr_never_over_draws_and_sizes_are_equal_up_to_rounding(alpha, sizes, clients, seed):
    try:
        _, counts = split(DR(alpha), labels_of(sizes), min(clients, sum(sizes)), seed)
    except FedbenchError as refusal:
        assume("draws gave each" not in str(refusal))
        raise
    assert np.all(counts.sum(axis=0) <= sizes)
    held = client_sizes(counts)
    assert held.max() - held.min() <= 2 * len(sizes)
    # the class that sets the scale is used up, but for rounding
    assert np.min(np.array(sizes) - counts.sum(axis=0)) <= clients / 2


@pytest.mark.parametrize(("alpha", "share"), [(1.0, 0.87), (0.1, 0.75), (0.01, 0.68)])
def test_dr_uses_the_share_measured_for_cifar10(alpha, share):
    labels = balanced(10, 5000)
    used = [split(DR(alpha), labels, 100, seed)[1].sum() / 50_000 for seed in range(20)]
    assert np.mean(used) == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize(("alpha", "share"), [(1.0, 0.79), (0.1, 0.53), (0.01, 0.30)])
def test_dr_uses_the_share_measured_for_cifar100(alpha, share):
    labels = balanced(100, 500)
    used = [split(DR(alpha), labels, 100, seed)[1].sum() / 50_000 for seed in range(20)]
    assert np.mean(used) == pytest.approx(share, abs=0.03)


def test_dr_takes_back_the_largest_round_ups_of_an_over_drawn_class():
    wanted = np.array([[1.5, 0.4], [1.7, 0.4], [1.8, 0.4]])  # 5 and 1.2; rounded 2+2+2 and 0
    assert _round(wanted, np.array([5, 9])).tolist() == [[1, 0], [2, 0], [2, 0]]


def test_dr_gives_up_with_a_sentence_if_no_draw_serves_all():
    with pytest.raises(FedbenchError, match=r"DR\(alpha=1e-06\): none of 1000 draws gave each of"):
        split(DR(1e-6), labels_of([1, 1, 18]), 20)


# --- test split -----------------------------------------------------------------------------------


def test_mirror_divides_the_test_set_by_the_training_shares():
    counts = np.array([[30, 0, 1], [10, 5, 1]])
    labels = np.repeat([0, 1, 2], [8, 3, 4])
    parts = mirror(counts, labels, np.random.default_rng(0))
    assert label_counts(labels, parts, 3).tolist() == [[6, 0, 2], [2, 3, 2]]
    assert sorted(np.concatenate(parts)) == list(range(15))


@FAST
@given(sizes=st.lists(st.integers(5, 40), min_size=2, max_size=6), seed=seeds)
def test_mirror_uses_every_test_sample_once(sizes, seed):
    rng = np.random.default_rng(seed)
    _, counts = split(DY(0.5, "fedadc"), labels_of(sizes), 5, seed)
    labels = rng.integers(0, len(sizes), 50)
    parts = mirror(counts, labels, rng)
    assert sorted(np.concatenate(parts)) == list(range(50))
    shares = counts / counts.sum(axis=0) * np.bincount(labels, minlength=len(sizes))
    assert np.all(np.abs(label_counts(labels, parts, len(sizes)) - shares) < 1 + 1e-9)

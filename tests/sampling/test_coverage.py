"""Class-coverage sampling: every cohort knows all classes."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import pytest

from fedbench import Part, RunSpec, run
from fedbench.sampling.sampler import Coverage, Uniform, _greedy_cover


@dataclass(frozen=True)
class Known(Part):
    """Writes down how many classes each cohort knows."""

    classes: list = field(default_factory=list)

    def send(self, r):
        self.classes.append(int((r.fed.labels[list(r.clients)].sum(0) > 0).sum()))
        return {}


def sorted_shards(K, s, classes=10, seed=0):
    """Label counts (K, classes) of clients who hold s shards of one class each."""
    rng = np.random.default_rng(seed)
    shards = np.concatenate([rng.permutation(classes) for _ in range(K * s // classes)])
    counts = np.zeros((K, classes), dtype=np.int64)
    np.add.at(counts, (np.repeat(np.arange(K), s), shards), 25)
    return counts


def covers(labels, cohort):
    return bool((labels[cohort].sum(axis=0) > 0).all())


@pytest.mark.parametrize(("K", "C", "s"), [(100, 0.1, 2), (100, 0.2, 2), (20, 0.5, 3)])
def test_every_cohort_covers_all_classes(K, C, s):
    labels = sorted_shards(K, s)
    uniform_fails = 0
    for seed in range(200):
        cohort = Coverage()(np.random.default_rng(seed), K, C, labels)
        assert covers(labels, cohort)
        assert cohort == sorted(set(cohort))
        assert len(cohort) == round(C * K)
        uniform_fails += not covers(labels, Uniform()(np.random.default_rng(seed), K, C, labels))
    assert uniform_fails > 0


def test_acceptance_and_mean_coverage_of_the_papers_case():
    # specification, section 26: K=100, m=10, s=2: 9.06 classes on average, 0.31 accepted
    known = []
    for seed in range(600):
        labels = sorted_shards(100, 2, seed=seed)
        cohort = Uniform()(np.random.default_rng(seed), 100, 0.1, labels)
        known.append(np.count_nonzero(labels[cohort].sum(axis=0)))
    assert np.mean(known) == pytest.approx(9.06, abs=0.15)
    assert np.mean(np.array(known) == 10) == pytest.approx(0.31, abs=0.07)


def test_a_first_draw_that_covers_is_the_uniform_one_and_uses_no_more_numbers():
    labels, accepted = sorted_shards(100, 2), 0
    for seed in range(100):
        one, other = np.random.default_rng(seed), np.random.default_rng(seed)
        uniform = Uniform()(one, 100, 0.1, labels)
        cohort = Coverage()(other, 100, 0.1, labels)
        if covers(labels, uniform):
            accepted += 1
            assert cohort == uniform
            assert one.bit_generator.state == other.bit_generator.state
    assert 10 < accepted < 60


@pytest.mark.parametrize(
    ("labels", "C"), [(np.ones((12, 5), dtype=np.int64), 0.25), (sorted_shards(10, 1), 1.0)]
)
def test_clients_who_know_everything_and_full_participation_are_uniform(labels, C):
    for seed in range(20):
        rngs = [np.random.default_rng(seed) for _ in range(2)]
        a, b = (
            S()(g, len(labels), C, labels) for S, g in zip((Uniform, Coverage), rngs, strict=True)
        )
        assert a == b
        assert rngs[0].bit_generator.state == rngs[1].bit_generator.state


def test_each_covering_subset_is_equally_likely():
    # clients know {0}, {1}, {0, 1}, {0}; the pairs that know both: 01, 02, 12, 13, 23
    labels = np.array([[3, 0], [0, 3], [1, 1], [2, 0]])
    wanted = {pair for pair in combinations(range(4), 2) if covers(labels, list(pair))}
    assert len(wanted) == 5
    found = Counter(
        tuple(Coverage()(np.random.default_rng(seed), 4, 0.5, labels)) for seed in range(2000)
    )
    assert set(found) == wanted
    assert all(abs(n - 400) < 80 for n in found.values())  # deviation 18


def rare():
    """400 clients: all but nine know class 0 alone, each of the nine one of the other classes."""
    labels = np.zeros((400, 10), dtype=np.int64)
    labels[:391, 0] = 5
    labels[np.arange(391, 400), np.arange(1, 10)] = 5
    return labels


def test_greedy_cover_and_a_random_fill_where_rejection_fails():
    # the nine must all be among twelve: no draw in 1000 has them
    labels, seen = rare(), Counter()
    for seed in range(20):
        cohort = Coverage()(np.random.default_rng(seed), 400, 0.03, labels)
        assert len(cohort) == 12
        assert set(range(391, 400)) <= set(cohort)
        assert covers(labels, cohort)
        seen.update(cohort[:3])
    assert len(seen) > 40  # the cover's tie and the fill are random
    again = [Coverage()(np.random.default_rng(3), 400, 0.03, labels) for _ in range(2)]
    assert again[0] == again[1]


def test_greedy_takes_who_adds_most():
    # {0,1,2} first, then {3,4}; {1,2,3} and {0} are not needed
    labels = np.array([[1, 0, 0, 0, 0], [1, 1, 1, 0, 0], [0, 1, 0, 1, 0], [0, 0, 0, 1, 1]])
    for seed in range(10):
        assert _greedy_cover(np.random.default_rng(seed), labels > 0) == [1, 3]


def test_a_bad_tie_is_drawn_again():
    # four clients of five: pairs {0,1}, {2,3} cover with two, {1,2} first would need three
    labels = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 1, 0]] + [[0, 1, 1, 0]] * 60)
    lengths = {len(_greedy_cover(np.random.default_rng(seed), labels > 0)) for seed in range(60)}
    assert lengths == {2, 3}
    for seed in range(10):
        assert Coverage()(np.random.default_rng(seed), 63, 2 / 63, labels) == [0, 1]


@pytest.mark.parametrize(
    ("labels", "C", "message"),
    [
        (sorted_shards(100, 2), 0.04, "m = 4 clients with the most classes hold 8 at most"),
        (np.array([[1, 0, 0], [0, 1, 0]]), 1.0, "no client has a sample of class 2"),
        # 3 + 3 ≥ 5 classes: the first and the last know all five …
        (np.array([[1, 1, 1, 0, 0], [1, 0, 1, 1, 0], [1, 0, 0, 1, 1]]), 2 / 3, ""),
        # … but no two of three who share two classes
        (np.array([[1, 1, 1, 0, 0], [1, 1, 0, 1, 0], [1, 1, 0, 0, 1]]), 2 / 3, "no 2 of 3 clients"),
    ],
)
def test_what_cannot_be_covered_is_refused(refuses, labels, C, message):
    if not message:  # {0,1,2} and {0,3,4} do
        assert Coverage()(np.random.default_rng(0), 3, C, labels) == [0, 2]
        return
    with refuses(message):
        Coverage()(np.random.default_rng(0), len(labels), C, labels)


def test_a_run_checks_every_round(cpu):
    spec = RunSpec(
        dataset="digits",
        partition={"sp": {"s": 2}},
        clients=20,
        participation=0.4,
        rounds=6,
        steps=1,
        sampler="coverage",
    )
    known = Known()
    run(spec, machine=cpu, parts=(known,))
    assert known.classes == [10] * 6
    uniform = Known()
    run(
        spec.model_copy(update={"sampler": RunSpec(sampler="uniform").sampler}),
        machine=cpu,
        parts=(uniform,),
    )
    assert min(uniform.classes) < 10

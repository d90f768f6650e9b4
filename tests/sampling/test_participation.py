"""Rules of participation that look at sizes, rounds and losses, checked by hand."""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from fedbench import Dataset, FedbenchError, Machine, RunSpec, run
from fedbench.base import seeds
from fedbench.engine.assemble import assemble, check_choices
from fedbench.engine.rounds import open_round
from fedbench.engine.training import Training
from fedbench.methods.feddisco import FedDisco
from fedbench.sampling.sampler import Cyclic, Markov, PowerOfChoice, Proportional, Sampler
from fedbench.store import RunFolder

CPU = Machine(device="cpu", workers=1)
SIZES = [2, 4, 6, 8]
LABELS = np.array([[n, 0] for n in SIZES])


def cloud():
    """Twenty points of two classes."""
    x = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.int64)
    return Dataset("cloud", x, y, x, y, classes=2)


def blocks():
    return np.split(np.arange(20), np.cumsum(SIZES)[:-1])


def problem(**settings):
    usual = {"model": "logistic", "clients": 4, "batch": None, "participation": 0.5}
    objects = {"data": cloud(), "partition": blocks()}
    return assemble(RunSpec(**{**usual, **settings}), objects, CPU, None)


def rng(t=0):
    return np.random.default_rng(t)


def always():
    return np.random.default_rng(99)


@dataclass(frozen=True)
class DrawsASet(Sampler):
    """Draws clients 2 and 0."""

    def __call__(self, rng, K, participation, labels):
        return {2, 0}


def test_a_cohort_may_be_a_set():
    made = replace(problem(), sampler=DrawsASet())
    assert open_round(made, made.fed.start, 0).clients == [0, 2]


def test_clients_are_drawn_by_their_numbers_of_samples():
    drawn = Counter(i for t in range(4000) for i in Proportional()(rng(t), 4, 0.5, LABELS))
    shares = np.array([drawn[i] for i in range(4)]) / drawn.total()
    assert shares == pytest.approx(np.array(SIZES) / 20, abs=0.015)


def test_a_client_that_is_drawn_twice_trains_once_and_counts_twice():
    made = problem(sampler="proportional", participation=1.0)
    rounds = [open_round(made, made.fed.start, t) for t in range(20)]
    drawn = [
        Proportional()(
            seeds.numpy_generator(0, t, seeds.EVERYONE, "cohort"), 4, 1.0, made.label_counts
        )
        for t in range(20)
    ]
    for r, each in zip(rounds, drawn, strict=True):
        times = Counter(each)
        assert list(r.clients) == sorted(times)
        assert r.p.tolist() == pytest.approx([times[i] / 4 for i in sorted(times)])
    assert any(len(r.clients) < 4 for r in rounds)
    weighted = problem(sampler="proportional", participation=1.0, weights="samples")
    r, times = open_round(weighted, weighted.fed.start, 0), Counter(drawn[0])
    shares = np.array([SIZES[i] * times[i] for i in sorted(times)])
    assert r.p.tolist() == pytest.approx(shares / shares.sum())


def test_groups_take_turns():
    cohorts = [Cyclic(3)(rng(t), 12, 0.25, None, t=t, always=always()) for t in range(60)]
    groups = [set().union(*(cohorts[t] for t in range(first, 60, 3))) for first in range(3)]
    assert [len(group) for group in groups] == [4, 4, 4]
    assert len(set().union(*groups)) == 12
    assert all(len(set(cohort)) == 3 for cohort in cohorts)


def test_availability_is_that_of_the_chain():
    rule = Markov(leave=0.1, join=0.3)
    on = np.zeros((400, 60), dtype=bool)
    for t in range(400):
        on[t, rule(rng(t), 60, 1.0, None, t=t, always=always())] = True
    assert on.mean() == pytest.approx(0.75, abs=0.02)
    left = (on[:-1] & ~on[1:]).sum() / on[:-1].sum()
    joined = (~on[:-1] & on[1:]).sum() / (~on[:-1]).sum()
    assert (left, joined) == pytest.approx((0.1, 0.3), abs=0.02)


def test_of_the_available_clients_m_are_drawn_and_one_where_none_is():
    assert {len(Markov()(rng(t), 40, 0.1, None, t=t, always=always())) for t in range(50)} == {4}
    rarely = Markov(leave=1.0, join=1e-9)
    assert {len(rarely(rng(t), 40, 0.1, None, t=t, always=always())) for t in range(50)} == {1}


def test_the_largest_losses_are_chosen_and_those_that_are_not_known_first():
    losses = np.array([0.1, 3.0, 2.0, 1.0])
    assert PowerOfChoice(d=4)(rng(), 4, 0.5, LABELS, losses=losses) == [1, 2]
    losses[0] = np.nan
    assert PowerOfChoice(d=4)(rng(), 4, 0.5, LABELS, losses=losses) == [0, 1]
    two = [PowerOfChoice(d=2)(rng(t), 4, 0.5, LABELS, losses=losses) for t in range(2000)]
    assert len({frozenset(each) for each in two}) == 6  # with d = m candidates losses say nothing


def test_a_run_gives_the_losses_of_the_last_turns_and_counts_them_as_traffic():
    made = problem(sampler={"powerofchoice": {"d": 4}}, rounds=6)
    training = Training(made, CPU)
    cohorts, seen = [], {}
    for t in range(6):
        known = np.array([seen.get(i, np.inf) for i in range(4)])
        r = open_round(made, training.progress.global_model, t, training.progress.losses)
        rest = np.delete(known, list(r.clients))
        assert known[list(r.clients)].min() >= rest.max()
        training.round()
        seen = dict(training.progress.losses)
        cohorts.append(tuple(r.clients))
    assert set(seen) == {0, 1, 2, 3}
    assert {*cohorts[0], *cohorts[1]} == {0, 1, 2, 3}  # nobody is left out in the first rounds
    d = made.fed.d
    assert training.progress.traffic["up"] == 6 * 2 * (d + 1)
    assert training.progress.traffic["down"] == 6 * 2 * d


def test_losses_outlive_a_stop(tmp_path):
    settings = {"sampler": {"powerofchoice": {"d": 3}}, "clients": 5, "participation": 0.4}
    spec = RunSpec(**settings, rounds=6)
    whole, saving = run(spec, machine=CPU), replace(CPU, checkpoint_minutes=1e-9)
    made, folder = assemble(spec, {}, CPU, None), RunFolder(tmp_path)
    first = Training(made, saving, folder)
    for _ in range(3):
        first.round()
    again = Training(made, saving, folder)
    assert again.progress.round == 3
    assert again.progress.losses == first.progress.losses
    assert torch.equal(again.run().weights, whole.weights)


@pytest.mark.parametrize(
    ("sampler", "said"),
    [
        ({"cyclic": {"groups": 3}}, "3 groups of 4 clients .* at most 2"),
        ({"powerofchoice": {"d": 1}}, "d = 1 must be 2…4"),
        ({"powerofchoice": {"d": 5}}, "d = 5 must be 2…4"),
    ],
)
def test_what_does_not_fit_is_refused_when_a_grid_is_planned(sampler, said):
    spec = RunSpec(clients=4, participation=0.5, sampler=sampler)
    with pytest.raises(FedbenchError, match=said):
        check_choices([("here", spec)])


@dataclass(frozen=True)
class Covers(Sampler):
    """Strikes out the labels of whom it draws."""

    def __call__(self, rng, K, participation, labels):
        first = int(labels.sum(axis=1).argmax())
        labels[first] = 0
        return [first]


def test_a_rule_may_write_into_the_counts_that_it_is_given():
    made = replace(problem(), sampler=Covers())
    assert [open_round(made, made.fed.start, t).clients for t in range(2)] == [[3], [3]]
    assert made.label_counts.sum(axis=1).tolist() == SIZES


@dataclass(frozen=True)
class Wants(Sampler):
    """Asks for what no rule is given."""

    def __call__(self, rng, K, participation, labels, sizes):
        return [0]


def test_what_a_rule_may_not_ask_for_is_named(refuses):
    made = replace(problem(), sampler=Wants())
    with refuses(r"Wants.__call__: missing .*'sizes'; .* may take t, always, losses"):
        open_round(made, made.fed.start, 0)


def test_feddisco_counts_a_client_as_often_as_it_was_drawn():
    made = problem(sampler="proportional", participation=1.0, weights="samples")
    r = open_round(made, made.fed.start, 0)
    assert float(r.times.max()) > 1
    assert FedDisco(a=0, b=0).weigh(r.p, r).tolist() == pytest.approx(r.p.tolist())

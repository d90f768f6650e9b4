"""How much each client trains in a round: the rules, and what a run counts of it."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from fedbench import Dataset, FedbenchError, Machine, RunSpec, Sampler, Shares, Work, run
from fedbench.base import seeds
from fedbench.work.local_epochs import Stragglers, Uniform
from tests.few import few_digits

CPU = Machine(device="cpu", workers=1)
LINE = {"model": "logistic", "clients": 4, "batch": 5, "rounds": 3, "epochs": 3, "lr": 0.1}


@dataclass(frozen=True)
class These(Sampler):
    """Draws the same clients in every round."""

    clients: tuple[int, ...]

    def __call__(self, rng, K, participation, labels):
        return list(self.clients)


def line():
    """Forty points of two classes; four clients have ten each."""
    x = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.int64)
    return Dataset("line", x, y, x, y, classes=2)


def rng(t, seed=0):
    return seeds.numpy_generator(seed, t, seeds.EVERYONE, "work")


def test_uniform_draws_every_number_of_the_interval_anew_in_each_round():
    drawn = np.array([Uniform(2)(range(10), 5, rng(t)) for t in range(300)])
    assert set(drawn.flatten()) == {2, 3, 4, 5}
    assert np.bincount(drawn.flatten())[2:] / drawn.size == pytest.approx(0.25, abs=0.03)
    assert len({tuple(each) for each in drawn}) > 290


def test_fixed_numbers_belong_to_clients_not_to_rounds_or_places():
    rule = Uniform(1, fixed=True)
    every = rule(range(20), 9, rng(0), 20, rng(seeds.ALWAYS))
    some = rule([3, 7, 19], 9, rng(5), 20, rng(seeds.ALWAYS))
    assert some.tolist() == every[[3, 7, 19]].tolist()
    assert len(set(every)) > 4


@pytest.mark.parametrize(("share", "late"), [(0.0, 0), (0.5, 5), (0.9, 9), (1.0, 9)])
def test_as_many_stragglers_as_the_share_says_and_one_client_is_in_time(share, late):
    kept, dropped = (Stragglers(share, drop)(range(10), 20, rng(1)) for drop in (False, True))
    assert kept.sent.all()
    assert (~dropped.sent).sum() == late
    assert kept.amounts.tolist() == dropped.amounts.tolist()  # the same clients do the same work
    assert (dropped.amounts[dropped.sent] == 20).all()
    assert ((dropped.amounts >= 1) & (dropped.amounts <= 20)).all()


@pytest.mark.parametrize("drop", [False, True])
def test_passes_and_traffic_by_hand(drop):
    spec = RunSpec(**LINE, work={"stragglers": {"share": 0.5, "drop": drop}})
    history = run(spec, data=line(), machine=CPU).history
    d, passes = 3 * 2, 0
    for t, row in enumerate(history.itertuples()):
        shares = Stragglers(0.5, drop)(range(4), 3, rng(t))
        passes += 10 * int(shares.amounts.sum())
        assert row.sample_passes == passes  # late clients have worked as well
        assert row.cohort == (2 if drop else 4)
        assert row.floats_down == (t + 1) * 4 * d
        assert row.floats_up == (t + 1) * row.cohort * d


def test_where_all_late_clients_are_dropped_the_rest_make_the_model():
    """One round: the mean of those in time, as when only these had been drawn."""
    late = run(
        RunSpec(**LINE | {"rounds": 1}, work={"stragglers": {"share": 0.5, "drop": True}}),
        data=line(), machine=CPU,
    )  # fmt: skip
    in_time = np.flatnonzero(Stragglers(0.5, drop=True)(range(4), 3, rng(0)).sent).tolist()
    only = run(
        RunSpec(**LINE | {"rounds": 1}), data=line(), machine=CPU, sampler=These(tuple(in_time))
    )
    assert torch.equal(late.weights, only.weights)


def test_steps_are_counted_where_the_run_counts_steps():
    spec = RunSpec(**LINE | {"epochs": None, "steps": 7}, work={"uniform": {"fixed": True}})
    history = run(spec, data=line(), machine=CPU).history
    amounts = Uniform(fixed=True)(range(4), 7, rng(0), 4, rng(seeds.ALWAYS))
    assert history["sample_passes"].diff().dropna().unique().tolist() == [5 * amounts.sum()]


def test_all_epochs_are_the_default_and_keep_the_identity():
    assert "work" not in RunSpec(work="constant").settings()
    assert RunSpec(work={"uniform": {"least": 1}}).id == RunSpec(work="uniform").id
    assert RunSpec(work="uniform").id != RunSpec().id


@pytest.mark.parametrize("work", ["uniform", {"stragglers": {"drop": True}}], ids=str)
@pytest.mark.parametrize("method", ["scaffold", "fednova", "asd"])
def test_workers_change_no_bit(work, method):
    spec = RunSpec(
        parts=[method], work=work, epochs=3, rounds=2, clients=6, batch=8, partition="dp"
    )
    results = [
        run(spec, data=few_digits(), machine=Machine(device="cpu", workers=n)) for n in (1, 2, 4)
    ]
    assert torch.equal(results[0].weights, results[1].weights)
    assert torch.equal(results[0].weights, results[2].weights)


def test_least_above_the_epochs_is_refused_before_training():
    with pytest.raises(FedbenchError, match=r"least = 4 .* at most 3"):
        run(RunSpec(**LINE, work={"uniform": {"least": 4}}), data=line(), machine=CPU)
    with pytest.raises(FedbenchError, match=r"least = 4 .* at most 3"):
        run(RunSpec(**LINE), data=line(), machine=CPU, work=Mine(4))


@dataclass(frozen=True)
class Mine(Uniform):
    """A rule that is given as an object, and has no name."""


@dataclass(frozen=True)
class Wrong(Work):
    """Gives what a rule must not give."""

    kind: str

    def __call__(self, clients, most, rng):
        m = len(clients)
        return {
            "none": np.zeros(m, dtype=int),
            "half": np.full(m, 0.5),
            "one": np.array([1]),
            "nobody": Shares(np.ones(m, dtype=int), np.zeros(m, dtype=bool)),
        }[self.kind]


@pytest.mark.parametrize("kind", ["none", "half", "one", "nobody"])
def test_a_wrong_rule_is_named(kind):
    with pytest.raises(FedbenchError, match=r"work: .* at least 1"):
        run(RunSpec(**LINE), data=line(), machine=CPU, work=Wrong(kind))

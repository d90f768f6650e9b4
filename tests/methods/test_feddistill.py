"""FedDistill+: tables of mean logits by hand, their invariants, and plain NumPy."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fedbench.core.part import Sizes
from fedbench.methods.feddistill import FedDistill
from tests.methods import reference
from tests.methods.loss_terms import (
    agree,
    batch,
    cross_entropy_slope,
    softmax,
    tensor,
    term,
    train_with,
)
from tests.methods.on_reference import trajectory

EXTRA = [
    {"average": "all_clients"},
    {"average": "mean", "accumulate": "all"},
    {"over": "active", "T": 3},
    {"zero_teacher": True},
]
NEUTRAL = [{"coef": 0}, {"coef": 0, "average": "all_clients", "accumulate": "all"}]

AVERAGES = ["leave_one_out", "all_clients", "mean"]
log = math.log


class Clients:
    """A server and K clients of two classes that take their turns by hand."""

    def __init__(self, part, K, classes=2):
        self.part, self.fed = part, SimpleNamespace(K=K, classes=classes)
        self.w, self.round = tensor([0.0]), 0
        self.server = part.server(self.w, self.fed)
        self.kept = [part.client(self.w, self.fed) for _ in range(K)]

    def turn(self, i):
        """Client i when local training begins."""
        message = self.part.send(SimpleNamespace(state=self.server))
        t = SimpleNamespace(
            fed=self.fed, round=self.round, msg=message, state=self.kept[i], scratch={}, upload={}
        )
        self.part.begin(self.w, t)
        return t

    def train(self, seen):
        """A round in which client i sees the batches (logits, labels) of `seen[i]`."""
        ups = []
        for i, batches in seen.items():
            t = self.turn(i)
            for z, y in batches:
                self.part.after(batch(z, y), t)
            self.part.end(tensor([0.0]), t)
            self.kept[i] = t.state
            ups.append(t.upload)
        r = SimpleNamespace(state=self.server, uploads=ups, clients=list(seen))
        self.part.step(tensor([0.0]), r)
        self.server, self.round = r.state, self.round + 1
        return ups

    def target(self, i):
        """(T_i, which rows are known) in the next round."""
        t = self.turn(i)
        return t.scratch["target"].tolist(), t.scratch["known"].tolist()


# Ḡ: class 0 of client 0 saw (2, 0) and (4, 2): (6, 2)/3 = (2, ⅔); class 1 saw (0, 4): (0, 2)
ZERO = [([[2.0, 0.0], [0.0, 4.0]], [0, 1]), ([[4.0, 2.0]], [0])]
# client 1 knows class 0 only: (8, 2)/2 = (4, 1). client 2: (2, 2)/2 = (1, 1); (6, 0)/2 = (3, 0)
ONE = [([[8.0, 2.0]], [0])]
TWO = [([[2.0, 2.0], [6.0, 0.0]], [0, 1])]
G = [[[2, 2 / 3], [0, 2]], [[4, 1], [0, 0]], [[1, 1], [3, 0]]]


def test_tables_by_hand_count_from_one():
    ups = Clients(FedDistill(), 3).train({0: ZERO, 1: ONE, 2: TWO})
    for up, table, present in zip(ups, G, [[1, 1], [1, 0], [1, 1]], strict=True):
        torch.testing.assert_close(up["table"], tensor(table))
        assert up["present"].tolist() == present


def test_leave_one_out_is_a_mean_over_those_who_have_the_class():
    clients = Clients(FedDistill(), 4)
    clients.train({0: ZERO, 1: ONE, 2: TWO})
    # client 0: class 0 from 1 and 2, class 1 from 2 alone
    assert clients.target(0) == ([[2.5, 1.0], [3.0, 0.0]], [1, 1])
    # client 1 has no class 1: both others' mean
    table, known = clients.target(1)
    assert table == [[1.5, pytest.approx(5 / 6)], [1.5, 1.0]]
    assert known == [1, 1]
    # client 3 did not take part: the plain mean
    table, _ = clients.target(3)
    assert table == [[pytest.approx(7 / 3), pytest.approx(8 / 9)], [1.5, 1.0]]


def test_only_the_last_cohort_counts_and_only_its_members_are_left_out():
    clients = Clients(FedDistill(), 4)
    clients.train({0: ZERO, 1: ONE})
    clients.train({1: ONE, 2: TWO})
    assert clients.target(0)[0] == [[2.5, 1.0], [3.0, 0.0]]  # of an older cohort: the plain mean
    assert clients.target(1)[0] == [[1.0, 1.0], [3.0, 0.0]]
    assert clients.target(2) == ([[4.0, 1.0], [0.0, 0.0]], [1, 0])  # nobody else has class 1


def test_all_clients_are_remembered_and_those_never_seen_count_as_zero():
    clients = Clients(FedDistill(average="all_clients"), 4)
    clients.train({0: ZERO, 1: ONE})
    clients.train({2: TWO})
    # (Σ − own)/(K − 1): client 0 gets ((4, 1) + (1, 1))/3 and (3, 0)/3
    assert clients.target(0)[0] == [[pytest.approx(5 / 3), pytest.approx(2 / 3)], [1.0, 0.0]]
    table, known = clients.target(3)
    assert table[0] == [pytest.approx(7 / 3), pytest.approx((2 / 3 + 2) / 3)]
    assert known == [1, 1]
    clients.train({2: ONE})  # replaces the table of client 2
    assert clients.target(1) == ([[2.0, pytest.approx(5 / 9)], [0.0, pytest.approx(2 / 3)]], [1, 1])
    assert clients.target(0)[1] == [1, 0]


def test_the_plain_mean_has_ones_own_table_too():
    clients = Clients(FedDistill(average="mean"), 3)
    clients.train({0: ZERO, 1: ONE})
    assert clients.target(0) == ([[3.0, pytest.approx(5 / 6)], [0.0, 1.0]], [1, 1])
    assert clients.target(2)[0] == clients.target(0)[0]
    clients.train({1: ONE})
    assert clients.target(0) == ([[4.0, 1.0], [0.0, 0.0]], [1, 0])


def test_a_lone_client_has_nobody_to_learn_from():
    clients = Clients(FedDistill(), 2)
    clients.train({0: ZERO})
    assert clients.target(0)[1] == [0, 0]
    assert clients.target(1)[1] == [1, 1]


def test_accumulating_over_all_turns_goes_on_where_the_last_ended():
    this, every = (Clients(FedDistill(accumulate=what), 2) for what in ("round", "all"))
    for clients in (this, every):
        clients.train({0: ONE, 1: TWO})
        (up, _) = clients.train({0: ONE, 1: TWO})
        # (8, 2) once or twice: (8, 2)/2 or (16, 4)/3
        wanted = [4.0, 1.0] if clients is this else [16 / 3, 4 / 3]
        torch.testing.assert_close(up["table"][0], tensor(wanted))


@pytest.mark.parametrize("average", ["leave_one_out", "all_clients"])
def test_targets_sum_to_the_tables(average):
    # every client has every class, all take part: Σ T_i = Σ Ḡ_i
    rng = np.random.default_rng(0)
    clients = Clients(FedDistill(average=average), 4, classes=3)
    seen = {i: [(rng.normal(size=(6, 3)), [0, 1, 2, 0, 1, 2])] for i in range(4)}
    tables = sum(up["table"] for up in clients.train(seen))
    targets = sum(tensor(clients.target(i)[0]) for i in range(4))
    torch.testing.assert_close(targets, tables)


def at(run, round_=1):
    return SimpleNamespace(round=round_, scratch={k: tensor(v) for k, v in run.items()})


TABLE = {"target": [[log(3), 0.0], [0.0, log(3)]], "known": [1.0, 0.0]}
KL = 0.75 * log(1.5) + 0.25 * log(0.5)  # (¾, ¼) against (½, ½)


def test_a_loss_by_hand():
    b = batch([[0.0, 0.0]] * 2, [0, 1])
    # the second label is in no table
    part = FedDistill(0.1)
    assert float(term(part, b, at(TABLE), value=7.0)) == pytest.approx(7 + 0.1 * KL / 2, rel=1e-12)
    active = term(FedDistill(0.1, over="active"), b, at(TABLE))
    assert float(active) == pytest.approx(0.1 * KL, rel=1e-12)
    unknown = batch([[0.0, 0.0]], [1])
    assert float(term(FedDistill(over="active"), unknown, at(TABLE))) == 0


def test_temperature_divides_the_logits_and_its_square_multiplies_the_term():
    table = {"target": [[2 * log(3), 0.0], [0.0, 0.0]], "known": [1.0, 1.0]}
    b = batch([[0.0, 0.0]], [0])
    assert float(term(FedDistill(T=2.0), b, at(table))) == pytest.approx(0.4 * KL, rel=1e-12)
    plain = FedDistill(T=2.0, scale_t=False)
    assert float(term(plain, b, at(table))) == pytest.approx(0.1 * KL, rel=1e-12)


def test_round_one_has_no_term():
    b = batch([[1.0, 0.0]], [0])
    assert float(term(FedDistill(), b, at(TABLE, round_=0), value=7.0)) == 7
    for average in AVERAGES:
        s = reference.problem(rounds=1)
        got = trajectory(s, (FedDistill(9.0, average=average),))
        np.testing.assert_allclose(got, trajectory(s, ()), rtol=0, atol=1e-14)


def test_a_zero_teacher_is_a_uniform_target_for_every_label():
    clients = Clients(FedDistill(zero_teacher=True), 2)
    clients.train({0: ONE})
    assert clients.target(1) == ([[0, 0], [0, 0]], [1, 1])
    # label smoothing: KL(½, ½ ‖ ¾, ¼)
    b = batch([[log(3), 0.0]], [0])
    t = at({"target": [[0.0, 0.0]] * 2, "known": [1.0, 1.0]})
    kl = 0.5 * log(2 / 3) + 0.5 * log(2)
    got = term(FedDistill(0.1, zero_teacher=True), b, t)
    assert float(got) == pytest.approx(0.1 * kl, rel=1e-12)


class Tables:
    """Each client's sums of logits and counts by label, for every turn (t, i) that it took."""

    def __init__(self, clients, every):
        self.clients, self.every, self.turns = clients, every, {}

    def count(self, t, i, z, y):
        if (t, i) not in self.turns:
            own = [turn for (_, j), turn in self.turns.items() if j == i and self.every]
            self.turns[t, i] = [v.copy() for v in (own or [[np.zeros((4, 4)), np.zeros(4)]])[-1]]
        sums, counts = self.turns[t, i]
        for row, label in zip(z, y, strict=True):
            sums[label] += row
            counts[label] += 1

    def mean(self, keys, share=None):
        """Over `share` clients, or a class over those who have it; and which rows are known."""
        number, total = np.zeros(4), np.zeros((4, 4))
        for sums, counts in (self.turns[key] for key in keys):
            total += sums / (counts[:, None] + 1)
            number += counts > 0
        return total / (share or np.maximum(number, 1)[:, None]), number > 0

    def leave_one_out(self, t, i):
        return self.mean([(u, j) for u, j in self.turns if u == t - 1 and j != i])

    def all_clients(self, t, i):
        last = {j: u for u, j in self.turns if u < t and j != i}
        return self.mean([(u, j) for j, u in last.items()], self.clients - 1)

    def plain(self, t, i):
        cohort = [(u, j) for u, j in self.turns if u == t - 1]
        return self.mean(cohort, len(cohort))

    def zero(self, t, i):
        return np.zeros((4, 4)), np.ones(4, bool)


def twin(s, coef, T=1.0, squared=True, target=Tables.leave_one_out, every=False, active=False):
    tables = Tables(len(s.rows), every)

    def dz(i, t, x, z, y, rows):
        tables.count(t, i, z, y)
        if t == 0:
            return cross_entropy_slope(z, y)
        goal, known = target(tables, t, i)
        away = (softmax(z / T) - softmax(goal[y] / T)) / T * known[y][:, None]
        by = max(known[y].sum(), 1) if active else len(y)
        return cross_entropy_slope(z, y) + coef * (T**2 if squared else 1) * away / by

    return train_with(s, dz)


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("average", AVERAGES)
def test_numpy_reference(average, every):
    s = reference.problem()
    part = FedDistill(2.0, average=average, accumulate="all" if every else "round")
    target = dict(
        zip(AVERAGES, (Tables.leave_one_out, Tables.all_clients, Tables.plain), strict=True)
    )
    agree(s, (part,), twin(s, 2.0, target=target[average], every=every))


def test_numpy_reference_with_options():
    s = reference.problem(by_samples=True)
    agree(s, (FedDistill(2.0, T=3.0),), twin(s, 2.0, T=3.0))
    agree(s, (FedDistill(2.0, T=3.0, scale_t=False),), twin(s, 2.0, T=3.0, squared=False))
    agree(s, (FedDistill(2.0, zero_teacher=True),), twin(s, 2.0, target=Tables.zero))
    agree(s, (FedDistill(2.0, over="active"),), twin(s, 2.0, active=True))


def test_cost():
    size = Sizes(d=100, classes=4, K=6, m=3, epochs=5, features=8)
    cost = FedDistill().cost(size)
    assert (cost.down, cost.up, cost.forward, cost.backward) == (20, 20, 0, 0)
    assert (cost.client_memory, cost.server_memory) == (21, 20)
    assert FedDistill(average="all_clients").cost(size).server_memory == 120
    assert FedDistill.shares

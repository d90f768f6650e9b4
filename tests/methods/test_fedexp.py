"""FedExP: the extrapolated server step, by hand, its invariants, the NumPy reference."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbench.methods.fedexp import FedExP
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import close, final, train
from tests.methods.server_side import Server, federation

EXTRA = [{"eps": 0.0}, {"times_cohort": True, "decayed": True, "eps": 1e-2}]
NEUTRAL = [{"eps": 1e12}]
QUICK = {"eps": 0.0}

CLIENTS = [[2.0, 1.0, 0.0], [-2.0], [5.0, 7.0]]


def step(updates, part, **settings):
    """The global update of one round."""
    updates = np.array(updates, dtype=float)
    return Server(part, federation(*updates.shape)).step(updates, **settings)


def test_one_round_by_hand():
    # w=4, targets 8, −12: gradients −4 and 16, lr 0.1: D = −0.4 and 1.6, D̄ = 0.6
    # ½(0.16 + 2.56) = 1.36; η_g = 1.36 / (2 (0.36 + 0.04)) = 1.7; x = 4 − 1.02
    part = FedExP(eps=0.04)
    assert close(final(train([[8.0], [-12.0]], 4.0, [part])), 2.98)


def test_each_round_starts_its_sum_anew():
    server = Server(FedExP(eps=0.0), federation(2, 2))
    for _ in range(3):  # orthogonal (2, 0), (0, 2): D̄ = (1, 1); ½(4 + 4)/(2 · 2) = 1
        assert close(server.step([[2.0, 0.0], [0.0, 2.0]]), 1, 1)


def test_weights_are_in_both_norms():
    # p = ¾, ¼; D = 1, −2: D̄ = ¼, Σ p D² = ¾ + 1 = 1.75; 1.75 / (2 · 1/16) = 14; 14 · ¼
    assert close(step([[1.0], [-2.0]], FedExP(eps=0.0), p=[0.75, 0.25]), 3.5)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.floats(-9, 9), min_size=3, max_size=3), min_size=1, max_size=5))
def test_never_shorter_than_fedavg(updates):
    mean = torch.tensor(updates, dtype=torch.float64).mean(0)
    longer = step(updates, FedExP(eps=1e-3)).norm()
    assert longer >= mean.norm() * (1 - 1e-12)


@pytest.mark.parametrize("eps", [0.0, 1e-3, 1.0])
def test_identical_updates_are_fedavgs(eps):
    # the ratio is at most ½
    assert torch.equal(step([[0.5, 2.0]] * 4, FedExP(eps)), torch.tensor([0.5, 2.0]).double())


def test_one_client_has_the_bits_of_fedavg():
    rules = {"epochs": 2, "batch": 2, "rounds": 3, "participation": 0.34}
    plain = train(CLIENTS, 1.0, **rules)
    assert list(plain.history["cohort"]) == [1, 1, 1]
    assert torch.equal(train(CLIENTS, 1.0, [FedExP(0.0)], **rules).weights, plain.weights)


@pytest.mark.parametrize("m", [1, 2, 3, 8])
def test_orthogonal_updates_of_equal_length_step_by_half_their_number(m):
    # Σ‖D‖²/m = 9, ‖D̄‖² = 9/m: η_g = max(1, m/2)
    got = step(3 * np.eye(m), FedExP(eps=0.0))
    assert close(got, *[max(1, m / 2) * 3 / m] * m)


def test_a_huge_epsilon_has_the_bits_of_fedavg():
    rules = {"epochs": 2, "batch": 2, "rounds": 3}
    plain = train(CLIENTS, 1.0, **rules).weights
    assert torch.equal(train(CLIENTS, 1.0, [FedExP(1e12)], **rules).weights, plain)
    assert not torch.equal(train(CLIENTS, 1.0, [FedExP(1e-9)], **rules).weights, plain)


def test_epsilon_times_the_cohort_and_falling_with_the_squared_rate():
    # D = 2 e_1, 2 e_2, 2 e_3: D̄ = ⅔ (1, 1, 1), ‖D̄‖² = 4/3, Σ p‖D‖² = 4; η_g = 2/(4/3 + 0.1 f)
    updates = 2 * np.eye(3)
    for part, f in (
        (FedExP(0.1), 1),
        (FedExP(0.1, times_cohort=True), 3),
        (FedExP(0.1, decayed=True), 0.25),  # η_t = η_0/2
        (FedExP(0.1, times_cohort=True, decayed=True), 0.75),
    ):
        assert close(step(updates, part, lr=0.5), *[2 / (4 / 3 + 0.1 * f) * 2 / 3] * 3)


def test_clients_that_stand_still_leave_the_model_where_it_is():
    assert close(step(np.zeros((3, 2)), FedExP(eps=0.0)), 0, 0)
    assert close(step([[1.0], [-1.0]], FedExP(eps=0.0)), 0)  # D̄ = 0 though no D_i is


def test_the_ratio_is_taken_in_double_precision():
    # a million updates of 1e-4 and one of 1: float32 sums of squares lose the small ones
    part = FedExP(eps=0.0)
    fed = federation(2, 1_000_001, dtype=torch.float32)
    part_server = Server(part, fed)
    assert part_server.state["squares"].dtype == torch.float64
    updates = torch.full((2, 1_000_001), 1e-4)
    updates[:, 0] = torch.tensor([30.0, -30.0])
    got = part_server.step(updates)
    mean = updates.double().mean(0)
    eta = (updates.double() ** 2).sum(1).mean() / (2 * (mean @ mean))
    torch.testing.assert_close(got[1].double(), eta * mean[1], rtol=1e-6, atol=0)
    assert got.dtype == torch.float32


def fedexp(s, eps, by_cohort, decayed):
    """Jhunjhunwala et al. 2023, algorithm 1, with the options of their code."""

    def one_round(t, cohort, p, x):
        deltas = [x - reference.descend(s, t, i, x, lambda y, g: g) for i in cohort]
        mean = reference.mix(p, deltas)
        small = eps * (len(cohort) if by_cohort else 1) * (s.decay ** (2 * t) if decayed else 1)
        squares = sum(share * np.linalg.norm(d) ** 2 for share, d in zip(p, deltas, strict=True))
        eta = max(1.0, squares / (2 * (np.linalg.norm(mean) ** 2 + small)))
        etas.append(eta)
        return x - eta * mean

    etas = []
    found = reference.rounds(s, one_round)
    assert max(etas) > 1, "the problem must extrapolate"
    return found


@pytest.mark.parametrize("by_samples", [False, True])
@pytest.mark.parametrize(
    ("by_cohort", "decayed"), [(False, False), (True, False), (False, True), (True, True)]
)
def test_numpy_reference(by_cohort, decayed, by_samples):
    s = reference.problem(by_samples=by_samples, lr=0.5)
    got = trajectory(s, (FedExP(0.01, by_cohort, decayed),))
    want = fedexp(s, 0.01, by_cohort, decayed)
    np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10)

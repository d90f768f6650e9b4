"""FedNova: normalised averaging, by hand, its invariants, the NumPy reference."""

import numpy as np
import pytest

from fedbench.methods.fednova import FedNova
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import close, final, train
from tests.methods.server_side import Server, federation

EXTRA = [{"rho": 0.5}]
NEUTRAL = []  # FedAvg where all H_i are equal: below

CLIENTS = [[2.0, 1.0, 0.0], [-2.0], [5.0, 7.0]]


def test_one_round_by_hand():
    # D = 6 in 3 steps, 2 in 1 step: directions 2 and 2, τ = 2: 4
    server = Server(FedNova(), federation(2, 1))
    assert close(server.step([[6.0], [2.0]], steps=[3, 1]), 4)
    # p = ¼, ¾: directions 2 and 1, τ = ¼ · 3 + ¾ = 1.5; 1.5 (½ + ¾)
    assert close(server.step([[6.0], [1.0]], steps=[3, 1], p=[0.25, 0.75]), 1.875)


def test_a_run_by_hand():
    # w=1, lr 0.1, batch 1. Targets 0, 0: 1 → 0.81, D = 0.19, H = 2; target 3: D = −0.2, H = 1
    # τ = 1.5: x = 1 − 1.5 · ½ (0.095 − 0.2)
    got = final(train([[0.0, 0.0], [3.0]], 1.0, [FedNova()], batch=1))
    assert close(got, 1.07875)


def test_with_local_momentum_a_step_counts_for_what_it_moves():
    # ρ = ½: buffers of equal gradients are 1, 1.5, 1.75: ‖a‖ = 4.25 for H = 3, 1 for H = 1
    server = Server(FedNova(0.5), federation(2, 1))
    # D = 8.5 and 2 are both 2 a unit; τ = 2.625
    assert close(server.step([[8.5], [2.0]], steps=[3, 1]), 5.25)


@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_equal_steps_are_fedavg(rho):
    rules = {"steps": 3, "batch": 1, "rounds": 4, "momentum": rho}
    plain = final(train(CLIENTS, 1.0, **rules))
    assert close(final(train(CLIENTS, 1.0, [FedNova(rho)], **rules)), plain)


def test_the_fixed_point_is_that_of_the_objective_whatever_the_steps():
    # Three samples with target 0, one with 4; mean of client objectives: 2. FedAvg leans towards
    # the client that steps three times per round, FedNova hardly (small steps: H gradients each)
    clients = [[0.0] * 3, [4.0]]
    rules = {"batch": 1, "rounds": 200, "lr": 0.02, "eval_every": 200}
    plain, nova = (final(train(clients, 1.0, parts, **rules)) for parts in ([], [FedNova()]))
    assert plain == pytest.approx(1.0, abs=0.05)  # (3 · 0 + 1 · 4)/4
    assert nova == pytest.approx(2.0, abs=0.05)


def fednova(s, rho=0.0):
    """Wang et al. 2020: d_i = G_i a_i/‖a_i‖₁ with a_i built step by step."""

    def one_round(t, cohort, p, x):
        norms, moved = [], []
        for i in cohort:
            a, buffer = 0.0, 0.0
            for _ in s.batches(t, i):
                buffer = rho * buffer + 1
                a += buffer
            v = np.zeros_like(x)

            def direction(y, g):
                nonlocal v
                v = rho * v + g
                return v

            norms.append(a)
            moved.append((x - reference.descend(s, t, i, x, direction)) / s.eta(t))
        normalised = [d / a for d, a in zip(moved, norms, strict=True)]
        tau = float(p @ np.array(norms))
        return x - tau * s.eta(t) * reference.mix(p, normalised)

    return reference.rounds(s, one_round)


@pytest.mark.parametrize("by_samples", [False, True])
@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_numpy_reference(rho, by_samples):
    s = reference.problem(by_samples=by_samples, lr=0.1)
    got = trajectory(s, (FedNova(rho),), momentum=rho)
    np.testing.assert_allclose(got, fednova(s, rho), rtol=1e-8, atol=1e-10)

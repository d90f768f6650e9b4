"""FedNova: normalised averaging, by hand, its invariants, the NumPy reference."""

import numpy as np
import pytest

from fedbench.methods.fednova import FedNova
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import DAMPENED, MOMENTUM, NESTEROV, close, final, train
from tests.methods.server_side import Server, federation

EXTRA = [{"rho": 0.5}]
NEEDS = {"momentum": 0.5}
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


@pytest.mark.parametrize(
    ("sgd", "a"), [(MOMENTUM, (4.25, 1)), (DAMPENED, (3.625, 1)), (NESTEROV, (5.125, 1.5))], ids=str
)
def test_with_local_momentum_a_step_counts_for_what_it_moves(sgd, a):
    # H = 3 and 1; both directions are 2: the step is 2 τ, with τ = (a_0 + a_1)/2
    server = Server(FedNova(), federation(2, 1, **sgd))
    assert close(server.step([[2 * a[0]], [2 * a[1]]], steps=[3, 1]), a[0] + a[1])


@pytest.mark.parametrize(
    ("sgd", "expected"),
    [
        # D = 0.1 (1 + 1.4) in ‖a‖ = 2.5, and −0.2 in 1: 1 − 1.75 (0.096 − 0.2)/2
        (MOMENTUM, 1.091),
        # D = 0.1 (1 + 1.175) in 2.25, and −0.2 in 1: 1 − 1.625 (0.2175/2.25 − 0.2)/2
        (DAMPENED, 1 - 1.625 * (0.2175 / 2.25 - 0.2) / 2),
        # D = 0.1 (1.5 + 1.525) in 3.25, and −0.3 in 1.5: 1 − 2.375 (0.3025/3.25 − 0.2)/2
        (NESTEROV, 1 - 2.375 * (0.3025 / 3.25 - 0.2) / 2),
    ],
    ids=str,
)
def test_a_run_with_local_momentum_by_hand(sgd, expected):
    # as above: targets 0, 0 in two steps from w=1, target 3 in one; lr 0.1
    got = final(train([[0.0, 0.0], [3.0]], 1.0, [FedNova()], batch=1, **sgd))
    assert close(got, expected)


def test_rho_is_the_runs_momentum_or_refused(refuses):
    rules = {"batch": 1, "momentum": 0.5}
    given, left_out = (final(train(CLIENTS, 1.0, [FedNova(rho)], **rules)) for rho in (0.5, None))
    assert given == left_out
    for rho, momentum in ((0.0, 0.5), (0.9, 0.5), (0.9, 0.0)):
        with refuses(f"FedNova: rho = {rho} contradicts momentum = {momentum} of the run"):
            train(CLIENTS, 1.0, [FedNova(rho)], momentum=momentum)


@pytest.mark.parametrize("sgd", [{}, {"momentum": 0.9}, DAMPENED, NESTEROV], ids=str)
def test_equal_steps_are_fedavg(sgd):
    rules = {"steps": 3, "batch": 1, "rounds": 4, **sgd}
    plain = final(train(CLIENTS, 1.0, **rules))
    assert close(final(train(CLIENTS, 1.0, [FedNova()], **rules)), plain)


@pytest.mark.parametrize(
    ("sgd", "lean"),
    # (a_0 · 0 + a_1 · 4)/(a_0 + a_1)
    [({}, 1.0), (MOMENTUM, 4 / 5.25), (DAMPENED, 4 / 4.625), (NESTEROV, 6 / 6.625)],
    ids=str,
)
def test_the_fixed_point_is_that_of_the_objective_whatever_the_steps(sgd, lean):
    # Three samples with target 0, one with 4; mean of client objectives: 2. FedAvg leans towards
    # the client that steps three times per round, FedNova hardly (small steps: H gradients each)
    clients = [[0.0] * 3, [4.0]]
    rules = {"batch": 1, "rounds": 400, "lr": 0.01, "eval_every": 400, **sgd}
    plain, nova = (final(train(clients, 1.0, parts, **rules)) for parts in ([], [FedNova()]))
    assert plain == pytest.approx(lean, abs=0.05)
    assert nova == pytest.approx(2.0, abs=0.05)


def fednova(s, **sgd):
    """Wang et al. 2020: d_i = G_i a_i/‖a_i‖₁ with a_i built step by step."""

    def one_round(t, cohort, p, x):
        norms, moved = [], []
        for i in cohort:
            step = reference.local_sgd(**sgd)
            y = reference.descend(s, t, i, x, lambda y, g, step=step: step(g))
            norms.append(reference.effective_steps(len(s.batches(t, i)), **sgd))
            moved.append((x - y) / s.eta(t))
        normalised = [d / a for d, a in zip(moved, norms, strict=True)]
        tau = float(p @ np.array(norms))
        return x - tau * s.eta(t) * reference.mix(p, normalised)

    return reference.rounds(s, one_round)


@pytest.mark.parametrize("by_samples", [False, True])
@pytest.mark.parametrize("sgd", [{}, {"momentum": 0.8}, DAMPENED, NESTEROV], ids=str)
def test_numpy_reference(sgd, by_samples):
    s = reference.problem(by_samples=by_samples, lr=0.1)
    got = trajectory(s, (FedNova(),), **sgd)
    np.testing.assert_allclose(got, fednova(s, **sgd), rtol=1e-8, atol=1e-10)

"""FedVARP: remembered updates of absent clients, by hand, its invariants, the NumPy reference."""

import itertools

import numpy as np
import pytest
import torch

from fedbench import Machine, RunSpec, run
from fedbench.core.part import Sizes
from fedbench.methods.fedvarp import FedVARP
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import DAMPENED, MOMENTUM, NESTEROV, close, final, train
from tests.methods.server_side import Server, federation

EXTRA = [{"eta_g": 0.5}, {"normalise": True}]
NEUTRAL = []

CLIENTS = [[2.0, 1.0, 0.0], [-2.0], [5.0, 7.0]]


def test_three_rounds_by_hand():
    server = Server(FedVARP(), federation(2, 1))
    # S={0}, D=4: v = 4 − 0 + 0. Y = (4, 0), Ȳ = 2
    assert close(server.step([[4.0]], clients=[0]), 4)
    # S={1}, D=−2: v = −2 − 0 + 2 = 0. Y = (4, −2), Ȳ = 1
    assert close(server.step([[-2.0]], clients=[1]), 0)
    # S={0}, D=3: v = 3 − 4 + 1 = 0. Y = (3, −2), Ȳ = ½
    assert close(server.step([[3.0]], clients=[0]), 0)
    assert close(server.state["Y"], 3, -2)
    assert close(server.state["mean"], 0.5)


def test_the_server_rate_is_in_model_units():
    assert close(Server(FedVARP(0.5), federation(1, 1, lr=0.1)).step([[4.0]]), 2)


def test_full_participation_is_fedavg():
    rules = {"epochs": 2, "batch": 2, "rounds": 5, "lr_decay": 0.9}
    plain = train(CLIENTS, 1.0, **rules).weights
    assert close(train(CLIENTS, 1.0, [FedVARP()], **rules).weights, float(plain))


@pytest.mark.parametrize("weights", ["uniform", "samples"])
def test_the_first_round_has_the_bits_of_fedavg(weights):
    rules = {"epochs": 2, "batch": 2, "rounds": 1, "participation": 0.67, "weights": weights}
    plain = train(CLIENTS, 1.0, **rules).weights
    assert torch.equal(train(CLIENTS, 1.0, [FedVARP()], **rules).weights, plain)


@pytest.mark.parametrize("normalise", [False, True])
def test_the_mean_is_that_of_the_memory_at_all_times(normalise):
    rng = np.random.default_rng(0)
    server = Server(FedVARP(normalise=normalise), federation(5, 3))
    for _ in range(20):
        clients = sorted(rng.choice(5, 2, replace=False).tolist())
        # weights that are not uniform leave the mean over all K alone
        server.step(rng.normal(size=(2, 3)), clients=clients, p=[0.9, 0.1], steps=[2, 5])
        torch.testing.assert_close(server.state["mean"], server.state["Y"].mean(0))


def remembered(updates):
    """A server that has heard every client once."""
    server = Server(FedVARP(), federation(*np.shape(updates)))
    server.step(updates)
    return server


def test_updates_that_are_remembered_already_step_by_the_mean_whoever_sends_them():
    updates = np.random.default_rng(1).normal(size=(4, 3))
    for m in (1, 2, 3):
        for clients in itertools.combinations(range(4), m):
            got = remembered(updates).step(updates[list(clients)], clients=list(clients))
            assert close(got, *updates.mean(0))


def test_the_step_is_unbiased_over_cohorts():
    rng = np.random.default_rng(2)
    memory, updates = rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    steps = [
        remembered(memory).step(updates[list(clients)], clients=list(clients))
        for clients in itertools.combinations(range(4), 2)
    ]
    assert close(torch.stack(steps).mean(0), *updates.mean(0))


def test_normalised_units_by_hand():
    # η = 0.1, H = 2 and 4, D = 0.4 and 0.4: Y = 2 and 1; v = 1.5, step η H̄ v = 0.1 · 3 · 1.5
    server = Server(FedVARP(normalise=True), federation(2, 1, lr=0.1))
    assert close(server.step([[0.4], [0.4]], steps=[2, 4]), 0.45)
    assert close(server.state["Y"], 2, 1)
    # η = 0.05, client 0 alone, D = 0.3: D/(ηH) = 3; v = 3 − 2 + 1.5 = 2.5, step 0.05 · 2 · 2.5
    assert close(server.step([[0.3]], steps=[2], clients=[0], lr=0.05), 0.25)


@pytest.mark.parametrize(
    ("sgd", "a"), [(MOMENTUM, (2.5, 4.25)), (DAMPENED, (2.25, 3.625)), (NESTEROV, (3.25, 5.125))]
)
def test_normalised_units_with_local_momentum_by_hand(sgd, a):
    # η = 0.1, H = 2 and 3; D = 0.1 · ‖a‖ · 2 and · 1: Y = 2 and 1, the step is η mean(a) · 1.5
    server = Server(FedVARP(normalise=True), federation(2, 1, lr=0.1, **sgd))
    step = server.step([[0.2 * a[0]], [0.1 * a[1]]], steps=[2, 3])
    assert close(server.state["Y"], 2, 1)
    assert close(step, 0.1 * sum(a) / 2 * 1.5)


def test_units_do_not_matter_for_a_constant_rate_and_equal_steps():
    rules = {"steps": 3, "batch": 1, "rounds": 6, "participation": 0.67}
    plain = train(CLIENTS, 1.0, [FedVARP()], **rules).weights
    assert close(train(CLIENTS, 1.0, [FedVARP(normalise=True)], **rules).weights, float(plain))
    falling = {**rules, "lr_decay": 0.8}
    a, b = (final(train(CLIENTS, 1.0, [FedVARP(normalise=n)], **falling)) for n in (False, True))
    assert not close(a, b)


def test_memory_is_one_vector_a_client_and_uploads_are_left_whole():
    cost = FedVARP().cost(Sizes(d=7, classes=3, K=9, m=4, epochs=1, features=8))
    assert (cost.server_memory, cost.client_memory, cost.down, cost.up) == (77, 0, 0, 0)
    assert cost.ops_maintain == 5  # Y_i for each of four, and Ȳ
    server = Server(FedVARP(), federation(1, 2))
    update = torch.tensor([[1.0, 2.0]], dtype=torch.float64)
    server.step(update)
    server.step(update + 1)
    assert update.tolist() == [[1, 2]]


def test_the_memory_may_lie_on_disk(cpu):
    spec = RunSpec(parts=["fedvarp"], rounds=4, participation=0.3)
    memory = run(spec, machine=cpu)
    disk = run(spec, machine=Machine(device="cpu", state_gb=1e-9))
    assert torch.equal(memory.weights, disk.weights)


def fedvarp(s, eta_g, normalise, **sgd):
    """Jhunjhunwala et al. 2022: memory Y, v = mean_S (Δ_i − Y_i) + mean_K Y."""
    Y = np.zeros((len(s.rows), *s.w0.shape))

    def one_round(t, cohort, p, x):
        a = np.array([reference.effective_steps(len(s.batches(t, i)), **sgd) for i in cohort])
        unit = s.eta(t) * a if normalise else np.ones(len(cohort))
        deltas = []
        for i in cohort:
            step = reference.local_sgd(**sgd)
            deltas.append(x - reference.descend(s, t, i, x, lambda y, g, step=step: step(g)))
        deltas = np.array(deltas) / unit[:, None, None]
        v = reference.mix(p, deltas - Y[cohort]) + Y.mean(axis=0)
        Y[cohort] = deltas
        return x - eta_g * (s.eta(t) * (p @ a) if normalise else 1) * v

    return reference.rounds(s, one_round)


@pytest.mark.parametrize("by_samples", [False, True])
@pytest.mark.parametrize(
    ("eta_g", "normalise", "sgd"),
    [
        *((1.0, False, {}), (0.5, False, MOMENTUM)),
        *((1.0, True, sgd) for sgd in ({}, MOMENTUM, DAMPENED, NESTEROV)),
    ],
)
def test_numpy_reference(eta_g, normalise, sgd, by_samples):
    s = reference.problem(by_samples=by_samples)
    got = trajectory(s, (FedVARP(eta_g, normalise),), **sgd)
    np.testing.assert_allclose(got, fedvarp(s, eta_g, normalise, **sgd), rtol=1e-8, atol=1e-10)

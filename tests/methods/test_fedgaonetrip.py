"""FedGA with last time's gradients, worked by hand, its invariants, and the NumPy reference."""

import numpy as np
import pytest
import torch

from fedbench.methods.fedga import FedGA
from fedbench.methods.fedgaonetrip import FedGAOneTrip
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import DAMPENED, MOMENTUM, NESTEROV, close, final, train
from tests.methods.recording import progress
from tests.methods.test_fedga import curved

EXTRA = [{"with_offset": True}, {"beta": 0.02, "in_lr": False}]
NEUTRAL = [{"beta": 0}]

CLIENTS = [[2.0, 1.0, 0.0], [-2.0], [5.0, 7.0], [1.0, 1.5]]
RULES = {"epochs": 2, "batch": 2, "rounds": 5, "participation": 0.5}


@pytest.mark.parametrize(("with_offset", "third"), [(False, 0.3825), (True, 0.405)])
def test_three_rounds_by_hand(with_offset, third):
    # gradients w and 4w, β=0.1, lr 0.1. Round 1, no displacement: 0.9 and 0.6, x = 0.75;
    # g = 1 and 4, mean 2.5. Round 2: starts 0.75 ∓ 0.15: 0.6 → 0.54 and 0.9 → 0.54.
    # Without the offsets g = (0.6 − 0.54)/0.1 = 0.6 and 3.6, mean 2.1: starts 0.54 ∓ 0.15:
    # 0.39 → 0.351 and 0.69 → 0.414. With them g = 2.1 and 2.1, no displacement: 0.486 and 0.324.
    part = FedGAOneTrip(0.1, in_lr=False, with_offset=with_offset)
    x = [final(curved([part], rounds=t)) for t in (1, 2, 3)]
    assert close(x, 0.75, 0.54, third)


@pytest.mark.parametrize("with_offset", [False, True])
@pytest.mark.parametrize(
    ("sgd", "y", "g"),
    [
        (MOMENTUM, 0.76, 0.96),  # steps 1 and ½ + 0.9, in ‖a‖ = 2.5
        (DAMPENED, 0.7825, 2.175 / 2.25),  # 1 and ½ + ¾ · 0.9, in 2.25
        (NESTEROV, 0.6975, 3.025 / 3.25),  # 1.5 and 0.85 + ½ · 1.35, in 3.25
    ],
    ids=str,
)
def test_with_local_momentum_by_hand(sgd, y, g, with_offset):
    # w=1, lr 0.1, two steps, targets 0 and 1: the second has no gradient
    part = FedGAOneTrip(0.1, in_lr=False, with_offset=with_offset)
    state = progress([[0.0], [1.0]], 1.0, [part], steps=2, **sgd)
    assert close([state.clients[i][0]["g"] for i in (0, 1)], g, 0.0)
    assert close(state.server[0]["g"], g / 2)
    assert close(state.global_model.w, (y + 1) / 2)


@pytest.mark.parametrize("sgd", [{}, MOMENTUM, DAMPENED, NESTEROV, {"momentum": 0.9}], ids=str)
def test_a_constant_gradient_is_found_whatever_the_optimiser(sgd):
    # loss z: all gradients are 1, and the displacements 0, in every round
    part = FedGAOneTrip(1.0)
    rules = {"batch": 1, "rounds": 3, "loss": lambda z, y: z.sum(-1), **sgd}
    state = progress(CLIENTS, 1.0, [part], **rules)
    assert close([state.clients[i][0]["g"] for i in range(4)], *[1.0] * 4)


def test_the_first_round_is_fedavg():
    plain = train(CLIENTS, 1.0, **{**RULES, "rounds": 1}).weights
    got = train(CLIENTS, 1.0, [FedGAOneTrip(1.0)], **{**RULES, "rounds": 1}).weights
    assert torch.equal(got, plain)


def test_who_was_never_there_starts_from_the_global_model():
    # every client takes part once only: 4 clients, one a round, seeds where all four differ
    rules = {"rounds": 2, "participation": 0.25}
    for seed in range(30):
        state = progress(CLIENTS, 1.0, [FedGAOneTrip(1.0)], **rules, seed=seed)
        if len(state.clients) == 2:
            plain = train(CLIENTS, 1.0, **rules, seed=seed).weights
            assert torch.equal(state.global_model.w, plain)
            return
    raise AssertionError("no seed gave two cohorts without a common client")


def test_the_servers_mean_is_of_what_the_clients_keep():
    # full participation: ḡ = mean g_i, and g_i is the mean of the client's own gradients
    rules = {**RULES, "participation": 1.0}
    part = FedGAOneTrip(0.5)
    state = progress(CLIENTS, 1.0, [part], **rules)
    kept = [float(state.clients[i][0]["g"]) for i in range(4)]
    assert close(state.server[0]["g"], sum(kept) / 4)


@pytest.mark.parametrize("with_offset", [False, True])
def test_a_single_client_is_fedavg(with_offset):
    # ḡ is its own gradient
    rules = {"batch": 1, "rounds": 4}
    plain = train(CLIENTS[:1], 1.0, **rules).weights
    got = train(CLIENTS[:1], 1.0, [FedGAOneTrip(1.0, with_offset=with_offset)], **rules).weights
    torch.testing.assert_close(got, plain, rtol=1e-12, atol=1e-12)


def test_it_does_not_stand_beside_the_other_form(refuses):
    with refuses("cannot stand beside"):
        train(CLIENTS, parts=[FedGA(), FedGAOneTrip()])


def twin(s, beta, in_lr, with_offset, **sgd):
    """g_i = the client's last (start − y) / (η ‖a_i‖₁); ḡ = last round's mixture."""
    last, state = {}, {"mean": None}

    def one_round(t, cohort, p, x):
        ys, gs = [], []
        for i in cohort:
            start = x
            if i in last:
                start = x - beta * (s.eta(t) if in_lr else 1) * (state["mean"] - last[i])
            step = reference.local_sgd(**sgd)
            y = reference.descend(s, t, i, start, lambda y, g, step=step: step(g))
            moved = x - y if with_offset else start - y
            gs.append(moved / s.eta(t) / reference.effective_steps(len(s.batches(t, i)), **sgd))
            ys.append(y)
        last.update(zip(cohort, gs, strict=True))
        state["mean"] = reference.mix(p, gs)
        return reference.mix(p, ys)

    return reference.rounds(s, one_round)


@pytest.mark.parametrize("with_offset", [False, True])
@pytest.mark.parametrize(
    ("beta", "in_lr", "sgd"),
    [(0.1, True, {}), *((0.3, False, sgd) for sgd in ({}, MOMENTUM, DAMPENED, NESTEROV))],
)
def test_numpy_reference(beta, in_lr, with_offset, sgd):
    for by_samples in (False, True):
        s = reference.problem(by_samples=by_samples)
        got = trajectory(s, (FedGAOneTrip(beta, in_lr, with_offset),), **sgd)
        want = twin(s, beta, in_lr, with_offset, **sgd)
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10)

"""FedSpeed: prox-correction and ascent, worked by hand, its invariants, and the NumPy reference."""

import numpy as np
import pytest
import torch

from fedbench.methods.feddyn import FedDyn
from fedbench.methods.fedprox import FedProx
from fedbench.methods.fedspeed import FedSpeed
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import close, final, train
from tests.methods.recording import Ledger, progress

EXTRA = [
    {"rule": "feddyn", "lam": 20.0},
    {"raw": True, "a": 0.5},
    {"pull": "decay"},
]
NEUTRAL = []  # no strength at which it is FedAvg, bit for bit

CLIENTS = [[2.0, 1.0, 0.0], [-2.0], [5.0, 7.0], [1.0, 1.5]]
each_pull = pytest.mark.parametrize("pull", ["gradient", "decay"])
RULES = {"epochs": 2, "batch": 2, "rounds": 6, "participation": 0.5, "lr_decay": 0.9}


@pytest.mark.parametrize(
    ("options", "expected"),
    # w=1, target 0, lr 0.1, λ=2, ρ=0.1, one step a round
    [
        # y' = 1.1: y = 0.89, ĝ = 0.055, ŷ = 0.89 − 0.11 = 0.78
        # y' = 0.88: 0.88 − 0.055: y = 0.6975, ĝ = 0.055 + 0.04125, ŷ = 0.6975 − 0.1925
        ({}, 0.505),
        # y' = 1.1 again, then 0.78 + 0.078: 0.858 − 0.055: y = 0.6997, ĝ = 0.09515, ŷ = 0.5094
        ({"raw": True}, 0.5094),
        # ½ 1 + ½ 1.1: y = 0.895, ĝ = 0.0525, ŷ = 0.79
        # 0.79 + 0.05 − 0.0525: y = 0.71125, ĝ = 0.0525 + 0.039375, ŷ = 0.71125 − 0.18375
        ({"a": 0.5}, 0.5275),
        # the mean of y plus the mean of −λ ĝ: the same for one client of one
        ({"rule": "feddyn"}, 0.505),
        ({"pull": "decay"}, 0.505),
    ],
    ids=str,
)
def test_two_rounds_by_hand(options, expected):
    part = FedSpeed(0.1, lam=2.0, **options)
    assert close(final(train([[0.0]], 1.0, [part], rounds=2)), expected)


def test_the_pull_within_a_round_by_hand():
    # λ=2, ρ=0: 0.9; 0.9 + ½(0.9 − 1) = 0.85: 0.815; ĝ = 0.0925; ŷ = 0.815 − 0.185
    state = progress([[0.0]], 1.0, [FedSpeed(0.0, lam=2.0)], steps=2)
    assert close(state.clients[0][0]["g"], 0.0925)
    assert close(state.global_model.w, 0.63)


def test_the_mean_of_the_trained_models_leads_and_the_next_one_stands_beside_it():
    row = train([[0.0]], 1.0, [FedSpeed(0.0, lam=2.0)], steps=2).history.iloc[0]
    assert row["loss"] == pytest.approx(0.815**2 / 2)
    assert row["loss[next]"] == pytest.approx(0.63**2 / 2)


def test_the_pull_is_clipped_with_the_gradient_or_stays_outside():
    # as FedDyn with α = ½: y = 3.8 and 3.415, see there
    for pull, y in (("gradient", 3.8), ("decay", 3.415)):
        part = FedSpeed(0.0, lam=2.0, pull=pull)
        result = train([[0.0]], 4.0, [part], steps=2, clip=1.0)
        assert abs(final(result) - (y + (y - 4))) < 1e-5


def test_the_ascent_knows_no_weight_decay():
    # wd ½ at w=1, raw: y' = 1 + 0.1 · 1, step 1.1 + ½: y = 0.84, ŷ = 0.68
    part = FedSpeed(0.1, raw=True)
    assert close(final(train([[0.0]], 1.0, [part], weight_decay=0.5)), 0.68)


def test_a_weighs_the_gradient_uphill():
    # a = 0 is no ascent at all
    flat, climbing = FedSpeed(0.0), FedSpeed(0.5, a=0.0)
    assert torch.equal(
        train(CLIENTS, 1.0, [flat], **RULES).weights,
        train(CLIENTS, 1.0, [climbing], **RULES).weights,
    )


@pytest.mark.parametrize("share", [0.25, 0.5, 1.0])
def test_the_first_step_is_doubled_for_any_participation(share):
    ledger = Ledger()
    rules = {**RULES, "rounds": 1, "participation": share}
    result = train(CLIENTS, 1.0, [ledger, FedSpeed()], **rules)
    mean = float(ledger.rounds[0].models.mean())
    assert close(final(result) - 1, 2 * (mean - 1))
    # with FedDyn's rule it is 1 + m/K
    result = train(CLIENTS, 1.0, [FedSpeed(rule="feddyn")], **rules)
    assert close(final(result) - 1, (1 + share) * (mean - 1))


@each_pull
@pytest.mark.parametrize("a", [0.0, 0.3, 1.0])
def test_the_first_rounds_local_training_is_fedprox_without_ascent(a, pull):
    rules = {**RULES, "rounds": 1, "weight_decay": 0.1}
    speed, prox = Ledger(), Ledger()
    train(CLIENTS, 1.0, [speed, FedSpeed(0.0, a, 4.0, pull=pull)], **rules)
    train(CLIENTS, 1.0, [prox, FedProx(0.25, pull=pull)], **rules)
    got, want = speed.rounds[0].models, prox.rounds[0].models
    torch.testing.assert_close(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_without_ascent_and_with_its_rule_it_is_feddyn(share):
    rules = {**RULES, "participation": share, "clip": 1.0}
    dyn = train(CLIENTS, 1.0, [FedDyn(0.25, by_size=False)], **rules).weights
    speed = train(CLIENTS, 1.0, [FedSpeed(0.0, lam=4.0, rule="feddyn")], **rules).weights
    torch.testing.assert_close(speed, dyn, rtol=1e-10, atol=1e-10)
    paper = train(CLIENTS, 1.0, [FedSpeed(0.0, lam=4.0)], **rules).weights
    assert torch.allclose(paper, dyn, rtol=1e-10) == (share == 1.0)


def test_the_server_knows_the_mean_of_all_corrections():
    # ū = (1/K) Σ −λ ĝ_i
    part = FedSpeed(lam=4.0, rule="feddyn")
    for rounds in range(1, 6):
        state = progress(CLIENTS, 1.0, [part], **{**RULES, "rounds": rounds})
        kept = [-4 * state.clients[i][0]["g"] for i in state.clients]
        assert close(state.server[0]["u"], float(sum(kept)) / len(CLIENTS))


def twin(s, rho, a, lam, raw, rule):
    """Algorithm 1 of the paper; weight decay at y alone."""
    g_hat = np.zeros((len(s.rows), *s.w0.shape))

    def one_round(t, cohort, p, x):
        ys, uploads = [], []
        for i in cohort:
            y = x
            for rows in s.batches(t, i):
                g1 = s.gradient(y, rows)
                up = y + rho * (g1 if raw else g1 / np.linalg.norm(g1))
                g = (1 - a) * g1 + a * s.gradient(up, rows)
                g = g - g_hat[i] + (y - x) / lam + s.weight_decay * y
                y = y - s.eta(t) * g
            g_hat[i] -= (y - x) / lam
            ys.append(y)
            uploads.append(y - lam * g_hat[i])
        if rule == "feddyn":
            return reference.mix(p, ys) + np.mean(-lam * g_hat, axis=0)
        return reference.mix(p, uploads)

    return reference.rounds(s, one_round)


@each_pull
@pytest.mark.parametrize("rule", ["fedsp", "feddyn"])
@pytest.mark.parametrize(
    ("rho", "a", "lam", "raw"), [(0.1, 1.0, 10.0, False), (0.2, 0.4, 5.0, True)]
)
def test_numpy_reference(rho, a, lam, raw, rule, pull):
    for by_samples in (False, True):
        s = reference.problem(by_samples=by_samples)
        got = trajectory(s, (FedSpeed(rho, a, lam, raw, rule, pull),))
        want = twin(s, rho, a, lam, raw, rule)
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10)

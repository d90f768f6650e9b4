"""FedLESAM: the gradient uphill, worked by hand, its invariants, and the NumPy reference."""

import numpy as np
import pytest
import torch

from fedbench.methods.fedlesam import FedLESAM
from fedbench.methods.scaffold import Scaffold
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import final, train
from tests.methods.recording import progress

EXTRA = [{"since": "round"}]
NEUTRAL = [{"rho": 0}, {"rho": 0, "since": "round"}]

CLIENTS = [[2.0, 1.0, 0.0], [-2.0], [5.0, 7.0]]
each_since = pytest.mark.parametrize("since", ["turn", "round"])


@each_since
def test_three_rounds_by_hand(since):
    # w=1, target 0, ρ=½, lr 0.1. The first round is FedAvg's: 0.9. The model came down from 1, so
    # uphill is +½: g(1.4): 0.9 − 0.14 = 0.76; g(1.26): 0.76 − 0.126 = 0.634
    result = train([[0.0]], 1.0, [FedLESAM(0.5, since)], rounds=3)
    assert list(result.history["loss"]) == pytest.approx(
        [0.9**2 / 2, 0.76**2 / 2, 0.634**2 / 2], rel=1e-9
    )


def test_the_step_uphill_is_fixed_during_a_round():
    # target 3, from 1 to 1.2 and 1.38, ρ=1: uphill is −1 in both steps of the second round:
    # g(0.38) = −2.62: 1.642; g(0.642) = −2.358: 1.8778
    result = train([[3.0]], 1.0, [FedLESAM(1.0)], steps=2, rounds=2)
    assert final(result) == pytest.approx(1.8778, rel=1e-9)


def test_weight_decay_acts_where_the_model_is():
    # target 0, wd ½: 1 → 0.85; uphill 1.35 in the gradient alone: 0.85 − 0.1 (1.35 + 0.425)
    result = train([[0.0]], 1.0, [FedLESAM(0.5)], rounds=2, weight_decay=0.5)
    assert final(result) == pytest.approx(0.6725, rel=1e-9)


def test_who_was_absent_looks_back_to_its_own_last_turn():
    # δ = x_s − x_t: what a client keeps is the global model that its last turn began with
    rules = {"participation": 0.34}
    models, seen = [1.0], {}
    for rounds in range(1, 6):
        kept = progress(CLIENTS, 1.0, [FedLESAM(0.5)], rounds=rounds, **rules)
        for i, states in kept.clients.items():
            if i not in seen or float(states[0]["old"]) != seen[i]:
                assert float(states[0]["old"]) == models[-1]
            seen[i] = float(states[0]["old"])
        models.append(float(kept.global_model.w))
    assert len(seen) > 1


def test_where_all_take_part_the_last_turn_is_the_last_round():
    rules = {"epochs": 2, "batch": 2, "rounds": 4}
    one, other = (
        train(CLIENTS, 1.0, [FedLESAM(0.5, since)], **rules) for since in ("turn", "round")
    )
    assert torch.equal(one.weights, other.weights)
    rules["participation"] = 0.34
    one, other = (
        train(CLIENTS, 1.0, [FedLESAM(0.5, since)], **rules) for since in ("turn", "round")
    )
    assert not torch.equal(one.weights, other.weights)


@each_since
def test_the_first_round_is_fedavg(since):
    rules = {"epochs": 2, "batch": 2, "weight_decay": 0.1, "momentum": 0.9}
    sam = train(CLIENTS, 1.0, [FedLESAM(0.5, since)], **rules).weights
    assert torch.equal(sam, train(CLIENTS, 1.0, **rules).weights)


@each_since
def test_on_a_linear_loss_it_is_fedavg(since):
    def linear(z, y):
        return (2 * z).sum(-1)

    rules = {"loss": linear, "batch": 1, "rounds": 3}
    sam = progress(CLIENTS, 1.0, [FedLESAM(0.5, since)], **rules).global_model.w
    assert torch.equal(sam, progress(CLIENTS, 1.0, **rules).global_model.w)


def twin(s, rho, since, scaffold=False):
    """Algorithm 1; with `scaffold` the variant S, whose controls correct the gradient uphill."""
    kept = dict.fromkeys(range(len(s.rows)), s.w0)
    c, own = np.zeros_like(s.w0), [np.zeros_like(s.w0) for _ in s.rows]
    last = s.w0

    def one_round(t, cohort, p, x):
        nonlocal c, last
        ys, changes = [], 0
        for i in cohort:
            way = (kept[i] if since == "turn" else last) - x
            uphill = rho * way / np.linalg.norm(way) if way.any() else way
            y, correction = x, (c - own[i]) * scaffold
            batches = s.batches(t, i)
            for rows in batches:
                g = s.gradient(y + uphill, rows) + s.weight_decay * y
                y = y - s.eta(t) * (g + correction)
            new = own[i] - c + (x - y) / (len(batches) * s.eta(t))
            changes, own[i], kept[i] = changes + new - own[i], new, x
            ys.append(y)
        c, last = c + changes / len(s.rows), x
        return reference.mix(p, ys)

    return reference.rounds(s, one_round)


@each_since
@pytest.mark.parametrize("rho", [0.01, 0.1, 0.7])
def test_numpy_reference(rho, since):
    for by_samples in (False, True):
        s = reference.problem(by_samples=by_samples)
        got, want = trajectory(s, (FedLESAM(rho, since),)), twin(s, rho, since)
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10)
        assert np.abs(want - reference.fedavg(s)).max() > 1e-4


def test_numpy_reference_of_the_variant_with_controls():
    s = reference.problem()
    got = trajectory(s, (FedLESAM(0.5), Scaffold()))
    np.testing.assert_allclose(got, twin(s, 0.5, "turn", scaffold=True), rtol=1e-8, atol=1e-10)

"""FedGA with the extra exchange, worked by hand, its invariants, and the NumPy reference."""

import numpy as np
import pytest
import torch
from torch import nn

from fedbench import Dataset, Machine, RunSpec, run
from fedbench.methods.fedga import FedGA
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import LINE, blocks, close, final, train
from tests.methods.recording import Ledger

EXTRA = [{"beta": 0.02, "in_lr": False}]
NEUTRAL = [{"beta": 0}]

CLIENTS = [[2.0, 1.0, 0.0], [-2.0], [5.0, 7.0]]


def curved(parts, **settings):
    """w = 1; client 0 has ½ w², client 1 has ½ (2w)²: gradients w and 4w."""
    x, y = np.array([[1.0], [2.0]]), np.zeros(2)
    model = nn.Linear(1, 1, bias=False, dtype=torch.float64)
    nn.init.constant_(model.weight, 1.0)
    share = {"data": Dataset("curved", x, y, x, y, 0), "model": model, "partition": blocks([1, 1])}
    spec = RunSpec(**{"clients": 2, **LINE, **settings})
    return run(spec, machine=Machine(device="cpu", workers=1), parts=tuple(parts), **share)


def test_one_round_by_hand():
    # β=0.1, lr 0.1: g = 1 and 4, mean 2.5. Starts 1 − 0.1 · 1.5 = 0.85 and 1.15.
    # 0.85 − 0.085 = 0.765; 1.15 − 0.46 = 0.69
    ledger = Ledger()
    result = curved([ledger, FedGA(0.1, in_lr=False)])
    assert close(ledger.rounds[0].models, 0.765, 0.69)
    assert close(final(result), 0.7275)


def test_a_round_follows_the_gradient_of_the_penalised_objective():
    # Quadratics, one step: exactly f + (β/2) mean ‖g_i − ḡ‖². At w: f' = 2.5 w;
    # g_i − ḡ = ∓1.5 w, so the penalty is (β/2) · 2.25 w², its gradient 2.25 β w
    for beta in (0.1, 0.3):
        result = curved([FedGA(beta, in_lr=False)])
        assert close(final(result), 1 - 0.1 * (2.5 + 2.25 * beta))


def test_beta_counts_in_units_of_this_rounds_rate():
    # two rounds, lr 0.1 then 0.05, β = 1: β η = 0.1, then 0.05
    first = 1 - 0.1 * (2.5 + 2.25 * 0.1)
    second = first - 0.05 * (2.5 + 2.25 * 0.05) * first
    assert close(final(curved([FedGA(1.0)], rounds=2, lr_decay=0.5)), second)


def test_the_gradient_is_of_all_of_a_clients_data():
    # clients with targets (0, 4) and 1 at w=1, β=1, one step of one sample: g = −1 and 0,
    # starts 1 − (−½ + 1) = ½ and 1 − (−½) = 1½, whichever sample comes first
    ledger = Ledger()
    parts = [ledger, FedGA(1.0, in_lr=False)]
    train([[0.0, 4.0], [1.0]], 1.0, parts, batch=1, steps=1)
    y = ledger.rounds[0].models
    assert float(y[0]) in (pytest.approx(0.5 - 0.05), pytest.approx(0.5 + 0.35))
    assert close(y[1], 1.5 - 0.05)


@pytest.mark.parametrize("weights", ["uniform", "samples"])
def test_the_displacements_cancel(weights):
    # Σ p_i (y_i⁰ − x) = 0: with gradients switched off (lr → 0) the mean does not move
    rules = {"lr": 1e-30, "weights": weights, "participation": 0.67, "rounds": 3}
    ledger = Ledger()
    result = train(CLIENTS, 1.0, [ledger, FedGA(0.5, in_lr=False)], **rules)
    assert float(ledger.rounds[0].raw.abs().min()) > 0.01
    assert close(final(result), 1.0)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_a_cohort_of_one_is_fedavg(share):
    clients = CLIENTS if share < 1 else CLIENTS[:1]
    rules = {"epochs": 2, "batch": 1, "rounds": 4, "participation": share}
    plain = train(clients, 1.0, **rules).weights
    assert torch.equal(train(clients, 1.0, [FedGA(1.0)], **rules).weights, plain)


def twin(s, beta, in_lr):
    """Gradients first, then displaced starts."""

    def one_round(t, cohort, p, x):
        g = [s.gradient(x, s.rows[i]) for i in cohort]
        mean, ys = reference.mix(p, g), []
        for i, g_i in zip(cohort, g, strict=True):
            start = x - beta * (s.eta(t) if in_lr else 1) * (mean - g_i)
            ys.append(reference.descend(s, t, i, start, lambda y, g: g))
        return reference.mix(p, ys)

    return reference.rounds(s, one_round)


@pytest.mark.parametrize(("beta", "in_lr"), [(0.1, True), (0.5, False), (0.05, False)])
def test_numpy_reference(beta, in_lr):
    for by_samples in (False, True):
        s = reference.problem(by_samples=by_samples)
        got = trajectory(s, (FedGA(beta, in_lr),))
        np.testing.assert_allclose(got, twin(s, beta, in_lr), rtol=1e-8, atol=1e-10)

"""FedADC: embedded momentum, worked by hand, its invariants, and the NumPy reference."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from fedbench.methods.fedadc import FedADC
from fedbench.methods.fedadcdouble import FedADCDouble
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import DAMPENED, MOMENTUM, NESTEROV, close, final, train
from tests.methods.recording import Ledger, flat_loss, progress

EXTRA = [
    {"variant": "blue"},
    {"beta_l": 0.3, "beta_g": 0.6, "alpha": 1.5, "decay_at": "whole"},
    {"divisor": 10},
]
NEUTRAL = [{"beta": 0}, {"beta": 0, "variant": "blue"}, {"beta_l": 0, "beta_g": 0}]

CLIENTS = [[2.0, 1.0, 0.0], [-2.0], [5.0, 7.0]]
each_variant = pytest.mark.parametrize("variant", ["red", "blue"])


def second(part, **settings):
    """The weight after two rounds of two steps: w = 1, target 0, lr 0.1."""
    rules = {"steps": 2, "rounds": 2, **settings}
    return final(train([[0.0]], 1.0, [part], **rules))


@each_variant
def test_two_rounds_by_hand(variant):
    # β=½. Round 1, m=0: 1 → 0.9 → 0.81, D = 0.19, m = 1.9. Round 2: m̄ = ½ · 1.9 / 2 = 0.475
    # blue: 0.81 − 0.1 (0.81 + 0.475) = 0.6815; 0.6815 − 0.1 (0.6815 + 0.475) = 0.56585
    # red: y½ = 0.81 − 0.0475 = 0.7625, y = 0.9 · 0.7625 = 0.68625; y½ = 0.63875, y = 0.574875
    assert close(second(FedADC(0.5, variant)), 0.56585 if variant == "blue" else 0.574875)


def test_momentum_is_not_counted_twice():
    # third round, blue: m = 1.9, then D/η = 2.4415 = ½ · 1.9 + 0.81 + 0.6815, which is m itself
    state = progress([[0.0]], 1.0, [FedADC(0.5, "blue")], steps=2, rounds=2)
    assert close(state.server[0]["m"], 2.4415)


@each_variant
def test_no_local_share_is_slow_momentum(variant):
    # β_l=0, β_g=½: 0.81 → 0.6561, D/η = 1.539, m = 1.539 + 0.95 = 2.489, x = 0.81 − 0.2489
    assert close(second(FedADC(variant=variant, beta_l=0.0, beta_g=0.5)), 0.5611)


def test_alpha_scales_the_servers_step():
    # x = 1 − 2 · 0.19; m stays D/η = 1.9
    state = progress([[0.0]], 1.0, [FedADC(0.5, alpha=2.0)], steps=2)
    assert close(state.global_model.w, 0.62)
    assert close(state.server[0]["m"], 1.9)


def test_a_fixed_divisor_by_hand():
    # H = 10 in place of 2: m̄ = 0.095; blue: 0.81 − 0.0905 = 0.7195; − 0.08145 = 0.63805
    assert close(second(FedADC(0.5, "blue", divisor=10)), 0.63805)
    # 20 steps where 10 is the divisor inject 2 β m: zero gradients, D = η · 2 · ½ · 3
    started = Started(0.5, "blue", divisor=10)
    state = progress([[0.0]], 1.0, [started], steps=20, loss=flat_loss)
    assert close(state.global_model.w, 1 - 0.1 * 3)


@pytest.mark.parametrize(
    ("options", "expected"),
    # wd 0.1, one step. Round 1: 1 − 0.1 · 1.1 = 0.89, m = 1.1. Round 2: m̄ = 0.55,
    [
        ({"decay_at": "half"}, 0.74315),  # y½ = 0.835: 0.835 − 0.1 (0.835 + 0.0835)
        ({"decay_at": "whole"}, 0.7426),  # 0.835 − 0.1 (0.835 + 0.089)
        ({"variant": "blue"}, 0.7371),  # 0.89 − 0.1 (0.89 + 0.089 + 0.55)
    ],
)
def test_where_weight_decay_is_taken(options, expected):
    part = FedADC(0.5, **options)
    assert close(second(part, steps=1, weight_decay=0.1), expected)


def test_the_embedded_momentum_stays_outside_the_clip_and_the_local_buffer():
    # blue, clip ½, local momentum ½, from m = 3, β=½, H=2: m̄ = 0.75. g = 1 clipped to ½:
    # w = 1 − 0.1 (0.5 + 0.75) = 0.875; buffer ¼ + ½: 0.875 − 0.1 (0.75 + 0.75) = 0.725
    rules = {"steps": 2, "clip": 0.5, "momentum": 0.5}
    result = train([[0.0]], 1.0, [Started(0.5, "blue")], **rules)
    assert abs(final(result) - 0.725) < 1e-6


@dataclass(frozen=True)
class Started(FedADC):
    """Begins with m_0 = 3."""

    def server(self, w, fed):
        return {"m": torch.full_like(w, 3.0)}


@each_variant
@pytest.mark.parametrize(
    "local", [{}, MOMENTUM, DAMPENED, NESTEROV, {"optimizer": "adam"}], ids=str
)
def test_without_gradients_a_client_moves_by_the_momentum_share(variant, local):
    # D_i = η β_l m whatever a client's number of steps and its optimiser: 0.1 · 0.4 · 3
    ledger = Ledger()
    part = Started(0.9, variant, beta_l=0.4)
    progress(CLIENTS, 1.0, [ledger, part], batch=1, epochs=2, loss=flat_loss, **local)
    assert close(ledger.rounds[0].raw, *[0.12] * 3)


@each_variant
@pytest.mark.parametrize(
    ("sgd", "moved"),
    # two gradients of 1, m = 3, β_l = 0.4: D/η = ‖a‖ + 0.4 · 3, m = ‖a‖ + 0.9 · 3
    [(MOMENTUM, 2.5), (DAMPENED, 2.25), (NESTEROV, 3.25)],
    ids=str,
)
def test_with_local_momentum_by_hand(variant, sgd, moved):
    rules = {"steps": 2, "loss": lambda z, y: z.sum(-1), **sgd}
    ledger, part = Ledger(), Started(variant=variant, beta_l=0.4)
    state = progress([[0.0]], 1.0, [ledger, part], **rules)
    assert close(ledger.rounds[0].raw, 0.1 * (moved + 1.2))
    assert close(state.server[1]["m"], moved + 2.7)


RULES = {"epochs": 2, "batch": 2, "rounds": 4, "participation": 0.67, "lr_decay": 0.9}


@each_variant
def test_with_one_discount_the_server_takes_the_mean_model(variant):
    ledger = Ledger()
    train(CLIENTS, 1.0, [ledger, FedADC(0.9, variant)], **RULES, weight_decay=0.1)
    for r in ledger.rounds:
        torch.testing.assert_close(r.new, r.models.mean(0), rtol=1e-12, atol=1e-12)


@each_variant
@pytest.mark.parametrize("beta_l", [0.0, 0.3, 0.9])
def test_the_servers_momentum_is_heavy_ball_on_the_sums_of_gradients(beta_l, variant):
    # m_{t+1} = β_g m_t + mean_i Σ_k g_i^k for every β_l
    ledger = Ledger()
    parts = [ledger, FedADC(variant=variant, beta_l=beta_l, beta_g=0.7)]
    state = progress(CLIENTS, 1.0, parts, **RULES)
    m = 0.0
    for t in range(4):
        m = 0.7 * m + ledger.sums(t).mean(0)
    torch.testing.assert_close(state.server[1]["m"], m, rtol=1e-12, atol=1e-12)


def test_two_embedded_momenta_of_one_paper_are_refused(refuses):
    with refuses("cannot stand beside"):
        train(CLIENTS, parts=[FedADC(), FedADCDouble()])


def twin(s, variant, beta_l, beta_g, alpha=1.0, divisor=None, decay_at="half"):
    """Algorithm 3; red's weight decay where the gradient is taken."""
    state = {"m": np.zeros_like(s.w0)}

    def one_round(t, cohort, p, x):
        eta, m, wd = s.eta(t), state["m"], s.weight_decay
        deltas = []
        for i in cohort:
            y, found = x, s.batches(t, i)
            m_bar = beta_l * m / (divisor or len(found))
            for rows in found:
                if variant == "red":
                    half = y - eta * m_bar
                    g = s.gradient(half, rows) + wd * (half if decay_at == "half" else y)
                    y = half - eta * g
                else:
                    g = s.gradient(y, rows) + wd * y
                    y = y - eta * (g + m_bar)
            deltas.append((x - y) / eta)
        state["m"] = reference.mix(p, deltas) + (beta_g - beta_l) * m
        return x - alpha * eta * state["m"]

    return reference.rounds(s, one_round)


@each_variant
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"beta_l": 0.3, "beta_g": 0.6, "alpha": 0.7},
        {"divisor": 10},
        {"decay_at": "whole", "beta_l": 0.8},
    ],
    ids=str,
)
def test_numpy_reference(options, variant):
    for by_samples in (False, True):
        s = reference.problem(by_samples=by_samples, lr=0.05)
        want = twin(s, variant, **{"beta_l": 0.9, "beta_g": 0.9, **options})
        got = trajectory(s, (FedADC(0.9, variant, **options),))
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10)

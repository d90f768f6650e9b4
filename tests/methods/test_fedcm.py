"""FedCM: the mixed-in global update, worked by hand, its invariants, and the NumPy reference."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from fedbench.methods.fedcm import FedCM
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import DAMPENED, MOMENTUM, NESTEROV, close, final, train
from tests.methods.recording import Ledger, flat_loss, progress

EXTRA = [{"alpha": 0.5, "gamma_s": 1.5}]
NEUTRAL = [{"alpha": 1}]

CLIENTS = [[2.0, 1.0, 0.0], [-2.0], [5.0, 7.0]]


def test_two_rounds_by_hand():
    # α=½, lr 0.1, w=1, target 0, two steps. v = ½: 0.95; v = 0.475: 0.9025; Δ = 0.0975 / 0.2
    # v = 0.45125 + ½ · 0.4875 = 0.695: 0.833; v = 0.4165 + 0.24375 = 0.66025: 0.766975
    rules = {"steps": 2}
    assert close(final(train([[0.0]], 1.0, [FedCM(0.5)], rounds=1, **rules)), 0.9025)
    assert close(final(train([[0.0]], 1.0, [FedCM(0.5)], rounds=2, **rules)), 0.766975)


@pytest.mark.parametrize(
    ("sgd", "w", "delta"),
    [
        # steps of ½ and ¼ + 0.475 = 0.725: 0.8775, Δ = 0.1225 / (0.1 · 2.5)
        (MOMENTUM, 0.8775, 0.49),
        # ½ and ¼ + ¾ · 0.475 = 0.60625: Δ = 0.110625 / (0.1 · 2.25)
        (DAMPENED, 0.889375, 1.10625 / 2.25),
        # ¾: 0.925; v = ¼ + 0.4625 = 0.7125, 0.4625 + ½ · 0.7125 = 0.81875: Δ = 0.156875 / 0.325
        (NESTEROV, 0.843125, 1.56875 / 3.25),
    ],
    ids=str,
)
def test_with_local_momentum_by_hand(sgd, w, delta):
    # α=½, lr 0.1, w=1, target 0, two steps
    state = progress([[0.0]], 1.0, [FedCM(0.5)], steps=2, **sgd)
    assert close(state.global_model.w, w)
    assert close(state.server[0]["delta"], delta)


def test_a_second_round_with_local_momentum_by_hand():
    # Δ = 0.49: 0.43875 + 0.245 = 0.68375: 0.809125; 0.4045625 + 0.245 + ½ · 0.68375 = 0.9914375
    got = final(train([[0.0]], 1.0, [FedCM(0.5)], steps=2, rounds=2, **MOMENTUM))
    assert close(got, 0.70998125)


def test_each_client_is_divided_by_its_own_number_of_steps():
    # α=1, batch 1, target 0: one step of 1: D = 0.1; two: 1 and 0.9: D = 0.19. Δ = (1 + 0.95) / 2
    state = progress([[0.0], [0.0, 0.0]], 1.0, [FedCM(1.0)], batch=1)
    assert close(state.server[0]["delta"], 0.975)


def test_the_update_is_divided_by_the_rate_of_its_own_round():
    # α=½, one step, η 0.1 then 0.05: Δ_1 = 0.05 / 0.1 = ½; v = 0.475 + ¼ = 0.725; Δ_2 = 0.725
    state = progress([[0.0]], 1.0, [FedCM(0.5)], rounds=2, lr_decay=0.5)
    assert close(state.global_model.w, 0.95 - 0.05 * 0.725)
    assert close(state.server[0]["delta"], 0.725)


def test_the_servers_step_is_in_model_units_and_leaves_delta_alone():
    state = progress([[0.0]], 1.0, [FedCM(0.5, gamma_s=2.0)], steps=2)
    assert close(state.global_model.w, 1 - 2 * 0.0975)
    assert close(state.server[0]["delta"], 0.4875)


def test_weight_decay_stays_outside_alpha():
    # wd 0.1, one step: v = ½ · 1 + 0.1 · 1
    assert close(final(train([[0.0]], 1.0, [FedCM(0.5)], weight_decay=0.1)), 0.94)


@dataclass(frozen=True)
class Started(FedCM):
    """Begins with Δ_0 = 3."""

    def server(self, w, fed):
        return {"delta": torch.full_like(w, 3.0)}


@pytest.mark.parametrize("sgd", [{}, MOMENTUM, DAMPENED, NESTEROV, {"momentum": 0.9}], ids=str)
def test_without_gradients_delta_fades(sgd):
    # divided by H it would grow with momentum 0.9: 0.8 · 3 · ‖a‖/H
    state = progress(CLIENTS, 1.0, [Started(0.2)], batch=1, epochs=3, loss=flat_loss, **sgd)
    assert close(state.server[0]["delta"], 0.8 * 3)


def test_delta_is_a_moving_average_of_all_local_gradients():
    # equal H: Δ_{t+1} = α mean_i (1/H) Σ_k g_i^k + (1−α) Δ_t
    ledger = Ledger()
    rules = {"steps": 3, "batch": 1, "rounds": 4, "participation": 0.67, "lr_decay": 0.9}
    state = progress(CLIENTS, 1.0, [ledger, FedCM(0.3)], **rules)
    delta = 0.0
    for t in range(4):
        delta = 0.3 * ledger.sums(t).mean(0) / 3 + 0.7 * delta
    torch.testing.assert_close(state.server[1]["delta"], delta, rtol=1e-12, atol=1e-12)


def test_in_the_steady_state_it_steps_as_fedavg_does():
    # a constant gradient 1 (loss z): Δ → 1, so a round of one step moves by η; the first by α η
    rules = {"loss": lambda z, y: z.sum(-1)}
    first = progress([[0.0]], 0.0, [FedCM(0.1)], **rules).global_model.w
    late = [
        progress([[0.0]], 0.0, [FedCM(0.1)], rounds=T, **rules).global_model.w for T in (200, 201)
    ]
    assert close(first, -0.01)
    assert close(late[1] - late[0], -0.1)


def twin(s, alpha, gamma_s=1.0, **sgd):
    """v = α g + (1−α) Δ, then weight decay and momentum; Δ = Σ p_i D_i / (η ‖a_i‖₁)."""
    state = {"delta": np.zeros_like(s.w0)}

    def one_round(t, cohort, p, x):
        ds, gs = [], []
        for i in cohort:
            y, step = x, reference.local_sgd(**sgd)
            for rows in s.batches(t, i):
                v = alpha * s.gradient(y, rows) + (1 - alpha) * state["delta"]
                y = y - s.eta(t) * step(v + s.weight_decay * y)
            ds.append(x - y)
            gs.append((x - y) / s.eta(t) / reference.effective_steps(len(s.batches(t, i)), **sgd))
        state["delta"] = reference.mix(p, gs)
        return x - gamma_s * reference.mix(p, ds)

    return reference.rounds(s, one_round)


@pytest.mark.parametrize(
    ("alpha", "gamma_s", "sgd"),
    [
        (0.1, 1.0, {}),
        (0.6, 1.3, {}),
        (0.1, 1.0, MOMENTUM),
        (0.6, 1.3, DAMPENED),
        (0.1, 1, NESTEROV),
    ],
)
def test_numpy_reference(alpha, gamma_s, sgd):
    for by_samples in (False, True):
        s = reference.problem(by_samples=by_samples)
        got = trajectory(s, (FedCM(alpha, float(gamma_s)),), **sgd)
        np.testing.assert_allclose(got, twin(s, alpha, gamma_s, **sgd), rtol=1e-8, atol=1e-10)

"""SCAFFOLD: both control options, worked by hand, its invariants, and the NumPy reference."""

import numpy as np
import pytest
import torch

from fedbench.methods.fedspeed import FedSpeed
from fedbench.methods.scaffold import Scaffold
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import DAMPENED, MOMENTUM, NESTEROV, close, final, train
from tests.methods.recording import Ledger, progress

EXTRA = [{"option": "I"}, {"eta_g": 1.5}]
NEUTRAL = []  # no strength at which it is FedAvg, bit for bit

CLIENTS = [[2.0, 1.0, 0.0], [-2.0], [5.0, 7.0], [1.0, 1.5]]
each_option = pytest.mark.parametrize("option", ["I", "II"])
RULES = {"epochs": 2, "batch": 2, "rounds": 6, "participation": 0.5, "lr_decay": 0.9}


def test_option_two_by_hand():
    # w=1, lr 0.1, two steps. Round 1. Target 0: g = 1, 0.9, y = 0.81, c_0 = 0.95.
    # Target 1: y = 1, c_1 = 0. x = 0.905, c = 0.475.
    # Round 2. Target 0, − 0.95 + 0.475: 0.905 − 0.043 = 0.862; 0.862 − 0.0387 = 0.8233
    # Target 1, + 0.475: 0.905 − 0.038 = 0.867; (−0.133 + 0.475) → 0.8328.
    # c_0 = (0.905 + 0.862) / 2, c_1 = (−0.095 − 0.133) / 2
    rules = {"steps": 2, "rounds": 2}
    state = progress([[0.0], [1.0]], 1.0, [Scaffold()], **rules)
    assert close(state.global_model.w, (0.8233 + 0.8328) / 2)
    assert close([state.clients[i][0]["c"] for i in (0, 1)], 0.8835, -0.114)
    assert close(state.server[0]["c"], (0.8835 - 0.114) / 2)


@pytest.mark.parametrize(
    ("sgd", "y", "c", "second"),
    [
        # Steps of 1 and ½ + 0.9: y = 0.76, ‖a‖ = 2.5. x = 0.88, c = 0.48
        # Target 0, − 0.48: 0.4 → 0.84; ½ · 0.4 + 0.36 = 0.56: 0.784
        # Target 1, + 0.48: 0.36 → 0.844; ½ · 0.36 + 0.324 = 0.504: 0.7936
        (MOMENTUM, 0.76, 0.96, (0.784 + 0.7936) / 2),
        # 1 and ½ + ¾ · 0.9 = 1.175: y = 0.7825, ‖a‖ = 2.25; c_0 = (1.5 + ¾ · 0.9) / 2.25
        (DAMPENED, 0.7825, 2.175 / 2.25, None),
        # 1.5: 0.85; v = ½ + 0.85 = 1.35, 0.85 + ½ · 1.35 = 1.525: y = 0.6975, ‖a‖ = 3.25
        (NESTEROV, 0.6975, (1.75 + 1.5 * 0.85) / 3.25, None),
    ],
    ids=str,
)
def test_option_two_with_local_momentum_by_hand(sgd, y, c, second):
    # w=1, lr 0.1, two steps, targets 0 and 1. The control is the mean of the gradients, each as
    # often as it moved the weight; divided by H it would be 1.2 with momentum, above any gradient
    rules = {"steps": 2, **sgd}
    state = progress([[0.0], [1.0]], 1.0, [Scaffold()], **rules)
    assert close(state.global_model.w, (y + 1) / 2)
    assert close([state.clients[i][0]["c"] for i in (0, 1)], c, 0.0)
    if second:
        assert close(final(train([[0.0], [1.0]], 1.0, [Scaffold()], rounds=2, **rules)), second)


@pytest.mark.parametrize("sgd", [{"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}], ids=str)
def test_with_local_momentum_it_finds_the_optimum_of_skewed_clients(sgd):
    # the mean of 1, −2, 6 and 1.25; controls that are up to ten times too long diverge
    result = train(CLIENTS, 1.0, [Scaffold()], batch=1, epochs=3, rounds=200, lr=0.01, **sgd)
    assert result.status == "finished"
    assert final(result) == pytest.approx(1.5625, abs=0.02)


def test_option_one_by_hand():
    # c_0 = 1, c_1 = 0 are the gradients at x_0; c = ½; x_1 = 0.905 as before.
    # Target 0, − ½: 0.905 − 0.0405 = 0.8645; 0.8645 − 0.03645 = 0.82805. Target 1, + ½: the same.
    rules = {"steps": 2, "rounds": 2}
    state = progress([[0.0], [1.0]], 1.0, [Scaffold("I")], **rules)
    assert close(state.global_model.w, 0.82805)
    assert close([state.clients[i][0]["c"] for i in (0, 1)], 0.905, -0.095)


@each_option
def test_weight_decay_is_part_of_the_control(option):
    # one full step at w=1: g = 1 + 0.5; c_0 = 1.5 under both options
    state = progress([[0.0]], 1.0, [Scaffold(option)], weight_decay=0.5)
    assert close(state.clients[0][0]["c"], 1.5)


def test_option_one_looks_at_all_of_the_clients_data():
    # targets 0 and 4: one step sees one of them, the control their mean: 1 − 2
    state = progress([[0.0, 4.0]], 1.0, [Scaffold("I")], batch=1, steps=1)
    assert close(state.clients[0][0]["c"], -1.0)


def test_the_rate_in_the_control_is_the_decayed_one():
    # one client: c_0 = c, so each step is g. η 0.1, 0.05; x_1 = 0.9: c_0⁺ = 0.9
    state = progress([[0.0]], 1.0, [Scaffold()], rounds=2, lr_decay=0.5)
    assert close(state.clients[0][0]["c"], 0.9)


def test_the_servers_step_is_in_model_units():
    assert close(final(train([[0.0]], 1.0, [Scaffold(eta_g=2.0)], steps=2)), 1 - 2 * 0.19)


@each_option
def test_the_first_round_is_fedavg(option):
    rules = {**RULES, "rounds": 1, "weight_decay": 0.1, "momentum": 0.9}
    plain = train(CLIENTS, 1.0, **rules).weights
    assert torch.equal(train(CLIENTS, 1.0, [Scaffold(option)], **rules).weights, plain)


@each_option
def test_the_servers_control_is_the_mean_of_all_clients(option):
    for rounds in range(1, 6):
        state = progress(CLIENTS, 1.0, [Scaffold(option)], **{**RULES, "rounds": rounds})
        kept = [state.clients[i][0]["c"] for i in state.clients]
        assert rounds > 2 or len(kept) < len(CLIENTS), "an absent client counts as 0"
        assert close(state.server[0]["c"], float(sum(kept)) / len(CLIENTS))


def test_an_absent_client_keeps_its_control():
    first = {}
    for rounds in range(1, 6):
        ledger = Ledger()
        state = progress(CLIENTS, 1.0, [ledger, Scaffold()], **{**RULES, "rounds": rounds})
        now = {i: float(state.clients[i][1]["c"]) for i in state.clients}
        absent = set(first) - {int(i) for i in ledger.rounds[-1].clients}
        assert all(now[i] == first[i] for i in absent)
        first = now


def test_option_two_is_the_mean_of_the_local_gradients():
    # c_i⁺ = (1/H) Σ_k g_i^k, whatever the controls were
    ledger = Ledger()
    state = progress(CLIENTS, 1.0, [ledger, Scaffold()], **RULES)
    last = ledger.rounds[-1]
    wanted = ledger.sums(-1) / last.steps[:, None]
    for place, i in enumerate(last.clients):
        assert close(state.clients[int(i)][1]["c"], float(wanted[place]))


@each_option
def test_one_client_is_fedavg(option):
    # c_0 = c always
    rules = {"epochs": 2, "batch": 1, "rounds": 4}
    plain = train([[2.0, 1.0, 0.0]], 1.0, **rules).weights
    torch.testing.assert_close(
        train([[2.0, 1.0, 0.0]], 1.0, [Scaffold(option)], **rules).weights, plain
    )


def test_the_control_is_read_from_the_trained_model_not_from_a_corrected_upload():
    # FedSpeed doubles the first displacement it uploads; the control stays g = 1
    state = progress([[0.0]], 1.0, [FedSpeed(rho=0.0), Scaffold()])
    assert close(state.global_model.w, 0.8)
    assert close(state.clients[0][1]["c"], 1.0)


def twin(s, option, eta_g=1.0, **sgd):
    """Algorithm 1 of the paper, with uniform or given weights, and any local SGD."""
    state = {"c": np.zeros_like(s.w0)}
    own = [np.zeros_like(s.w0) for _ in s.rows]

    def one_round(t, cohort, p, x):
        dys, dcs = [], []
        for i in cohort:
            c, c_i = state["c"], own[i]
            step = reference.local_sgd(**sgd)

            def corrected(y, g, step=step, c=c, c_i=c_i):
                return step(g - c_i + c)

            y = reference.descend(s, t, i, x, corrected)
            if option == "I":
                new = s.gradient(x, s.rows[i]) + s.weight_decay * x
            else:
                a = reference.effective_steps(len(s.batches(t, i)), **sgd)
                new = c_i - c + (x - y) / (a * s.eta(t))
            dys.append(y - x)
            dcs.append(new - c_i)
            own[i] = new
        state["c"] = state["c"] + sum(dcs) / len(s.rows)
        return x + eta_g * reference.mix(p, dys)

    return reference.rounds(s, one_round)


@each_option
@pytest.mark.parametrize(
    ("eta_g", "sgd"), [(1.0, {}), (0.8, {}), (1.0, MOMENTUM), (1.0, DAMPENED), (1.0, NESTEROV)]
)
def test_numpy_reference(option, eta_g, sgd):
    for by_samples in (False, True):
        s = reference.problem(by_samples=by_samples)
        got = trajectory(s, (Scaffold(option, eta_g),), **sgd)
        np.testing.assert_allclose(got, twin(s, option, eta_g, **sgd), rtol=1e-8, atol=1e-10)

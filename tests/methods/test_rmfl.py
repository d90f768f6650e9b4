"""RMFL: the five readings of its equation 3, worked by hand, invariants, the NumPy reference."""

from dataclasses import dataclass, field

import numpy as np
import pytest
import torch

from fedbench.methods.mfl import MFL
from fedbench.methods.rmfl import RMFL
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import close, final, train

NEEDS = {"momentum": 0.0}
EXTRA = [
    *({"reading": name} for name in ("lit", "lit0", "r2", "r2prime")),
    {"dampened": True, "beta": 0.5},
]
NEUTRAL = [{"beta": 0, "reading": name} for name in ("r1", "lit", "lit0", "r2", "r2prime")]

READINGS = ["r1", "lit", "lit0", "r2", "r2prime"]
each_reading = pytest.mark.parametrize("reading", READINGS)
CLIENTS = [[2.0, 1.0, 0.0], [-2.0], [5.0, 7.0]]

# (weight of V, weights of g_1, g_2, g_3) at β = ½ and H = 3, from the specification's formulas
AT_THREE = {
    "r1": (1 / 2, [1 / 4, 1 / 8, 1 / 8]),  # ½·½, ½·¼, ½³
    "lit": (1 / 2, [1 / 2, 1 / 4, 1 / 4]),  # ½·1, ½·½, ½²
    "lit0": (0, [1 / 2, 1 / 4, 1 / 4]),
    "r2": (1 / 8, [1 / 2, 1 / 4, 1 / 8]),  # ½·1, ½·½, ½·¼
    "r2prime": (1 / 8, [1, 1 / 2, 1 / 4]),
}
AT_ONE = {
    "r1": (1 / 2, [1 / 2]),
    "lit": (1 / 2, [1]),
    "lit0": (0, [1]),
    "r2": (1 / 2, [1 / 2]),
    "r2prime": (1 / 2, [1]),
}


def coefficients(reading, H, beta=0.5, dampened=False):
    """(weight of V, weights of g_1 … g_H), by feeding unit gradients to the hooks."""
    w = torch.zeros(H + 1, dtype=torch.float64)  # entry 0 marks V, entry k the gradient g_k
    basis = torch.eye(H + 1, dtype=torch.float64)
    part = RMFL(beta, reading, dampened)
    turn = Turned(msg={"v": basis[0]}, H=H)
    part.begin(w, turn)
    for turn.k in range(H):
        part.move(basis[turn.k + 1], w, turn)
    part.end(w, turn)
    first, *rest = turn.upload["v"].tolist()
    return first, rest


@dataclass
class Turned:
    """As much of a turn as RMFL looks at."""

    msg: dict
    H: int
    k: int = 0
    scratch: dict = field(default_factory=dict)
    upload: dict = field(default_factory=dict)


@pytest.mark.parametrize(("H", "table"), [(3, AT_THREE), (1, AT_ONE)])
@each_reading
def test_coefficients_by_hand(reading, H, table):
    v, g = coefficients(reading, H)
    assert close([v, *g], table[reading][0], *table[reading][1])


@pytest.mark.parametrize(("H", "heaviest"), [(6, -1), (22, -1), (23, 0)])
def test_the_last_gradient_weighs_most_below_23_steps_unless_the_weights_are_reversed(H, heaviest):
    for reading in READINGS:
        _, g = coefficients(reading, H, beta=0.9)
        assert g[:-1] == sorted(g[:-1], reverse=True)
        assert max(g) == g[0 if reading.startswith("r2") else heaviest]


@pytest.mark.parametrize("H", [1, 2, 3, 16])
@each_reading
def test_the_weights_it_states_are_those_it_uses(reading, H):
    v, g = coefficients(reading, H)
    stated = RMFL(0.5, reading).weights(H)
    assert close([stated[0], *stated[1]], v, *g)


@pytest.mark.parametrize(("H", "last"), [(6, 0.531), (16, 0.185)])
def test_r1_weighs_the_last_gradient_most_where_steps_are_few(H, last):
    _, g = RMFL(0.9, "r1").weights(H)
    assert g[0] == pytest.approx(0.09)
    assert g[-1] == max(g) == pytest.approx(last, abs=5e-4)
    _, falling = RMFL(0.9, "r2").weights(H)
    assert falling == sorted(falling, reverse=True)


@pytest.mark.parametrize("H", [1, 2, 3, 6, 16, 40])
@pytest.mark.parametrize("beta", [0.0, 0.5, 0.9, 0.99])
def test_sums_of_the_weights(beta, H):
    sums = {name: sum([(c := coefficients(name, H, beta))[0], *c[1]]) for name in READINGS}
    assert close(sums["r1"], 1)
    assert close(sums["lit"], 2 - beta)
    assert close(sums["lit0"], 1)
    assert close(sums["r2"], 1)
    assert close(sums["r2prime"], beta**H + sum(beta**k for k in range(H)))


@pytest.mark.parametrize("dampened", [False, True])
def test_r1_is_the_moving_average_read_backwards(dampened):
    # EMA over (V, g_1 … g_H): V has β^H, g_k has (1−β) β^{H−k}; reversed: g_H has β^H, V (1−β)
    H, beta = 5, 0.9
    ema = [beta**H] + [(1 - beta) * beta ** (H - k) for k in range(1, H + 1)]
    v, g = coefficients("r1", H, beta, dampened)
    assert close([v, *g], *ema[::-1])


def test_lit0_is_pytorchs_dampened_buffer_read_backwards():
    # raw first buffer: g_1 has β^{H−1}, g_k (1−β) β^{H−k}
    H, beta = 5, 0.9
    buffer = [beta ** (H - 1)] + [(1 - beta) * beta ** (H - k) for k in range(2, H + 1)]
    v, g = coefficients("lit0", H, beta)
    assert v == 0
    assert close(g, *buffer[::-1])


def test_recent_gradients_count_least_only_under_r2():
    # H=16, β=0.9: R1's last weight 0.9^16 = 0.185 exceeds the first, 0.09
    _, g = coefficients("r1", 16, 0.9)
    assert g[-1] == max(g)
    assert close([g[0], g[-1]], 0.09, 0.9**16)
    assert coefficients("r1", 23, 0.9)[1][-1] < 0.09  # from H = 23 on it does not
    for reading in ("r2", "r2prime"):
        _, g = coefficients(reading, 16, 0.9)
        assert g == sorted(g, reverse=True)


@each_reading
def test_two_rounds_by_hand(reading):
    # β=½, lr 0.1, w=1, target 0, three steps. v = 1, .9; v = 1.4, .76; v = 1.46, .614.
    # g = 1, 0.9, 0.76. V_1 = Σ c_k g_k. Round 2: v = ½ V_1 + .614 in the first step.
    g = [1, 0.9, 0.76]
    V = sum(a * b for a, b in zip(AT_THREE[reading][1], g, strict=True))
    w, v = 0.614, V
    for _ in range(3):
        v = 0.5 * v + w
        w -= 0.1 * v
    rules = {"steps": 3}
    for rounds, expected in ((1, 0.614), (2, w)):
        result = train([[0.0]], 1.0, [RMFL(0.5, reading)], rounds=rounds, **rules)
        assert close(final(result), expected)


def test_third_round_inherits_v_itself():
    # one step a round, β=½, r1: v̂ = ½ V + ½ g. w=1: v=1, w=.9, V=.5;
    # v=.25+.9=1.15, w=.785, V=.25+.45=.7; v=.35+.785=1.135, w=.6715
    result = train([[0.0]], 1.0, [RMFL(0.5)], steps=1, rounds=3)
    assert close(final(result), 0.6715)


@each_reading
def test_beta_zero_is_fedavg(reading):
    rules = {"epochs": 2, "batch": 2, "rounds": 5, "weight_decay": 0.1}
    plain = train(CLIENTS, 1.0, **rules).weights
    assert torch.equal(train(CLIENTS, 1.0, [RMFL(0.0, reading)], **rules).weights, plain)


@each_reading
@pytest.mark.parametrize("dampened", [False, True])
def test_first_round_is_that_of_mfl(reading, dampened):
    rules = {"epochs": 2, "batch": 2, "clip": 1.0}
    rmfl = train(CLIENTS, 1.0, [RMFL(0.9, reading, dampened)], **rules).weights
    assert torch.equal(rmfl, train(CLIENTS, 1.0, [MFL(0.9, dampened)], **rules).weights)
    later = {"rounds": 3, **rules}
    rmfl = train(CLIENTS, 1.0, [RMFL(0.9, reading, dampened)], **later).weights
    assert not torch.equal(rmfl, train(CLIENTS, 1.0, [MFL(0.9, dampened)], **later).weights)


def one_step(part):
    return train(CLIENTS, 4.0, [part], steps=1, batch=2, rounds=5).weights


@pytest.mark.parametrize(
    ("reading", "dampened", "beta", "equal"),
    [
        ("r2prime", False, 0.9, True),
        ("r2", True, 0.9, True),
        ("r2", False, 0.9, False),
        ("r2prime", True, 0.9, False),
        ("r1", True, 0.9, False),
        ("r1", True, 0.5, True),  # β = ½ alone
        ("r1", False, 0.5, False),
        ("lit", False, 0.9, False),
        ("lit", False, 0.5, True),
        ("lit0", False, 0.9, False),
    ],
)
def test_one_step_equals_mfl_where_the_specification_says(reading, dampened, beta, equal):
    rmfl, mfl = one_step(RMFL(beta, reading, dampened)), one_step(MFL(beta, dampened))
    assert torch.allclose(rmfl, mfl, rtol=1e-12) == equal


def test_r1_keeps_a_constant_gradient():
    # V = g_1 = … = g_H = 3: v̂ = 3
    v, g = coefficients("r1", 7, 0.9)
    assert close(v * 3 + sum(g) * 3, 3)


def test_r2prime_of_equal_gradients_is_mfls_buffer():
    # V = 0 and all g = 3: Σ β^k 3 either way round
    _, g = coefficients("r2prime", 7, 0.9)
    v = 0.0
    for _ in range(7):
        v = 0.9 * v + 3
    assert close(sum(g) * 3, v)


@each_reading
def test_numpy_reference(reading):
    for by_samples in (False, True):
        s = reference.problem(by_samples=by_samples, lr=0.1)
        got = trajectory(s, (RMFL(0.9, reading),))
        np.testing.assert_allclose(got, reference.rmfl(s, 0.9, reading), rtol=1e-8, atol=1e-10)

"""FedDPC: projected and scaled updates, by hand, its invariants, the NumPy reference."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbench import RunSpec, run
from fedbench.core.ops import dot
from fedbench.core.part import Sizes
from fedbench.methods.feddpc import FedDPC
from fedbench.methods.twosided import TwoSided
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import close, final, train
from tests.methods.server_side import Server, federation

PLAIN = {"projection": False, "scaling": "none"}
EXTRA = [
    *({"scaling": name} for name in ("mult", "ratio", "gain", "none")),
    {"first_round": "one", "lam": -0.5},
    {"kappa": 2.0, "eta_g": "constant"},
    {**PLAIN, "kappa": 2.0},
]
NEUTRAL = [PLAIN]

CLIENTS = [[2.0, 1.0, 0.0], [-2.0], [5.0, 7.0]]
SCALINGS = ["add", "mult", "ratio", "gain", "none"]
each_scaling = pytest.mark.parametrize("scaling", SCALINGS)


def after(first, part, K=1, lr=1.0):
    """A server whose global update before was along `first`."""
    server = Server(part, federation(K, len(first), lr=lr))
    server.state["P"] = torch.tensor(first, dtype=torch.float64)
    server.t = 1
    return server


# Δ = (3, 4) against P = (1, 0): r = (0, 4), ‖Δ‖ = 5, ‖r‖ = 4
BY_HAND = {
    "add": 0.5 + 5 / 4,
    "mult": 1 + 0.5 * 5 / 4,
    "ratio": 5 / 4.5,
    "gain": 0.5 * 5 / 4,
    "none": 1,
}


@each_scaling
def test_one_update_by_hand(scaling):
    server = after([1.0, 0.0], FedDPC(0.5, scaling))
    assert close(server.step([[3.0, 4.0]]), 0, 4 * BY_HAND[scaling])


def test_lambda_of_ratio_is_in_gradient_units_and_the_others_have_none():
    # η = 0.1, D = (0.3, 0.4): Δ = (3, 4) as above, and D's step is a tenth
    for scaling, s in BY_HAND.items():
        server = after([7.0, 0.0], FedDPC(0.5, scaling), lr=0.1)
        assert close(server.step([[0.3, 0.4]]), 0, 0.4 * s)


def test_the_mean_is_of_the_scaled_residuals_and_becomes_p():
    # Δ = (3, 4) → 1 + 5/4 = 9/4 → (0, 9); Δ = (0, −2) → 2 → (0, −4); mean (0, 2.5), κ = 2
    server = after([1.0, 0.0], FedDPC(kappa=2.0), K=2)
    assert close(server.step([[3.0, 4.0], [0.0, -2.0]]), 0, 5)
    assert close(server.state["P"], 0, 2.5)


def test_the_square_of_p_is_computed_once_per_round_and_not_stored(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "fedbench.methods.feddpc.dot", lambda a, b: seen.append(a is b) or dot(a, b)
    )
    server = after([1.0, 0.0], FedDPC(scaling="none"), K=3)
    server.step([[3.0, 4.0], [0.0, -2.0], [1.0, 1.0]])
    assert seen == [True, False, False, False]  # P·P, then each Δ·P
    assert set(server.state) == {"P"}


def test_two_rounds_of_a_run_by_hand():
    # One weight. Round 1: s = λ + 1 = 2: x = 1 − 2 · 0.1 = 0.8. Round 2: Δ is along P: nothing left
    for rounds, expected in ((1, 0.8), (2, 0.8)):
        assert close(final(train([[0.0]], 1.0, [FedDPC()], rounds=rounds)), expected)


@pytest.mark.parametrize(
    ("scaling", "factor"),
    [("add", 3.5), ("mult", 3.5), ("ratio", 5 / 7.5), ("gain", 2.5), ("none", 1)],
)
def test_the_first_round_follows_the_formula_or_is_fedavgs(scaling, factor):
    # P = 0: r = Δ = (3, 4), λ = 2.5: s = 1 + λ, and 5/(5 + λ) or λ
    server = Server(FedDPC(2.5, scaling), federation(1, 2))
    assert close(server.step([[3.0, 4.0]]), 3 * factor, 4 * factor)
    one = Server(FedDPC(2.5, scaling, first_round="one"), federation(1, 2))
    assert close(one.step([[3.0, 4.0]]), 3, 4)
    # the second round is scaled, whatever the first was
    (a, b) = (s.step([[-4.0, 3.0]]) for s in (server, one))
    assert close(a, *b.tolist())
    assert close(a, -4 * factor, 3 * factor)


def test_first_round_is_lambda_plus_one_fedavg_steps():
    # specification, section 28, identity 9
    rules = {"epochs": 2, "batch": 2, "weight_decay": 0.1}
    for lam in (-0.5, 1.0, 2.0):
        want = final(train(CLIENTS, 1.0, [TwoSided(1 + lam)], **rules))
        assert close(final(train(CLIENTS, 1.0, [FedDPC(lam)], **rules)), want)


def random_rounds(part, rounds=8, m=4, d=6, dtype=torch.float64):
    """Global updates of a server fed with random ones that share a direction."""
    rng = np.random.default_rng(3)
    server = Server(part, federation(m, d, dtype=dtype))
    return [server.step(rng.normal(size=(m, d)) + 1) for _ in range(rounds)]


@each_scaling
def test_each_global_update_is_orthogonal_to_the_one_before(scaling):
    found = random_rounds(FedDPC(0.7, scaling, kappa=3.0))
    for before, now in itertools.pairwise(found):
        assert abs(float(before @ now)) < 1e-13 * float(before.norm() * now.norm())
        assert now.norm() > 0


def test_in_single_precision_too():
    for before, now in itertools.pairwise(random_rounds(FedDPC(), d=2000, dtype=torch.float32)):
        assert now.dtype == torch.float32
        assert abs(float(before @ now)) < 1e-6 * float(before.norm() * now.norm())


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-9, 9), min_size=3, max_size=3),
    st.lists(st.floats(-9, 9), min_size=3, max_size=3),
    st.floats(-2, 5),
)
def test_length_of_a_scaled_residual(delta, first, lam):
    server = after(first, FedDPC(lam))
    delta, P = np.array(delta), np.array(first)
    r = delta - (delta @ P) / (P @ P) * P if P @ P > 0 else delta
    if np.linalg.norm(r) <= 1e-6 * np.linalg.norm(delta):
        return  # the residual is rounding
    got = float(server.step([delta]).norm())
    wanted = abs(lam * np.linalg.norm(r) + np.linalg.norm(delta))
    assert got == pytest.approx(wanted, rel=1e-6, abs=1e-12)


def test_lambda_zero_keeps_each_clients_length():
    corrected, _ = after([1.0, 2.0, 3.0], FedDPC(0.0), K=2).receive([[3.0, 4, 0], [1, -7, 2]])
    assert close(corrected.norm(dim=1), 5, math.sqrt(54))


def test_orthogonal_updates_step_by_lambda_plus_one_of_their_mean():
    server = after([0.0, 0.0, 2.0], FedDPC(0.5), K=2)
    assert close(server.step([[3.0, 4, 0], [1, 0, 0]]), 1.5 * 2, 1.5 * 2, 0)


@each_scaling
@pytest.mark.parametrize("factor", [-1.0, 1e-6, 1e6])
def test_the_length_and_sign_of_p_do_not_matter(scaling, factor):
    update = [[3.0, 4.0, -1.0]]
    a = after([1.0, 2.0, 3.0], FedDPC(0.5, scaling)).step(update)
    b = after([factor, 2 * factor, 3 * factor], FedDPC(0.5, scaling)).step(update)
    assert close(a, *b.tolist())


def test_smaller_angles_weigh_more_and_opposing_updates_are_symmetric():
    def weight(degrees):
        angle = math.radians(degrees)
        update = [[math.cos(angle), math.sin(angle)]]
        return float(after([1.0, 0.0], FedDPC(0.0)).step(update).norm()) / math.sin(angle)

    weights = [weight(degrees) for degrees in (1, 10, 45, 80, 90)]
    assert weights == sorted(weights, reverse=True)  # csc θ: ∞ to 1 on (0°, 90°)
    assert close(weights[-1], 1)
    assert close(weight(150), weight(30))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scaling", ["add", "mult", "ratio", "gain"])
def test_an_update_along_p_leaves_nothing(scaling, dtype):
    # its residual is rounding, which must not be blown up to the length of the update
    part = FedDPC(0.5, scaling)
    server = Server(part, federation(1, 1000, dtype=dtype))
    P = torch.randn(1000, generator=torch.Generator().manual_seed(0)).to(dtype)
    server.state["P"], server.t = P, 1
    assert server.step((P * math.pi)[None]).norm() == 0
    # one part in a thousand beside P is no rounding
    aside = torch.randn(1000, generator=torch.Generator().manual_seed(1)).to(dtype)
    assert server.step((P * math.pi + 1e-3 * aside)[None]).norm() > 0


def test_a_client_that_stands_still_sends_nothing_and_nan_is_not_hidden():
    assert close(after([1.0, 2.0], FedDPC()).step([[0.0, 0.0]]), 0, 0)
    assert after([1.0, 2.0], FedDPC()).step([[float("nan"), 0.0]]).isnan().any()


def test_none_without_projection_is_fedavg_and_with_kappa_two_sided():
    rules = {"epochs": 2, "batch": 2, "rounds": 4, "momentum": 0.5}
    plain = train(CLIENTS, 1.0, **rules).weights
    assert torch.equal(train(CLIENTS, 1.0, [FedDPC(**PLAIN)], **rules).weights, plain)
    two = train(CLIENTS, 1.0, [FedDPC(**PLAIN, kappa=2.0)], **rules).weights
    assert torch.equal(two, train(CLIENTS, 1.0, [TwoSided(2.0)], **rules).weights)


def test_scaling_without_projection_is_refused(refuses):
    with refuses("projection = False set scaling to 'none'"):
        FedDPC(projection=False)
    with refuses("FedDPC: scaling = 'sum'"):
        FedDPC(scaling="sum")


@pytest.mark.parametrize("parts", [["feddpc", "fedvarp"], ["fedvarp", "feddpc"]])
def test_it_does_not_stand_beside_another_that_replaces_updates(refuses, parts):
    with refuses("'feddpc' cannot stand beside 'fedvarp'"):
        run(RunSpec(parts=parts))


def test_the_server_rate_follows_the_clients_or_stays():
    # Δ = D/η = 1: κ η_t Δ with η_t = η_0/2, or κ η_0 Δ
    for eta_g, expected in (("decayed", 0.1), ("constant", 0.2)):
        server = Server(FedDPC(**PLAIN, kappa=2.0, eta_g=eta_g), federation(1, 1, lr=0.1))
        assert close(server.step([[0.05]], lr=0.05), expected)


def test_work_is_at_the_server_and_linear_in_the_cohort():
    cost = FedDPC().cost(Sizes(d=7, classes=3, K=9, m=4, epochs=1, features=8))
    assert (cost.server_memory, cost.client_memory, cost.down, cost.up) == (7, 0, 0, 0)
    assert (cost.ops_begin, cost.ops_step, cost.ops_end) == (0, 0, 1)  # the division by η
    assert cost.ops_receive == 4  # Δ·P, ‖Δ‖², ‖r‖², r = Δ − a P
    ablation = FedDPC(**PLAIN).cost(Sizes(d=7, classes=3, K=9, m=4, epochs=1, features=8))
    assert (ablation.server_memory, ablation.ops_receive) == (0, 0)


def feddpc(s, part):
    """FedDPC paper, section 4 with its equations as the specification reconstructs them."""
    previous = None

    def scale(delta, r):
        whole, rest, lam = np.linalg.norm(delta), np.linalg.norm(r), part.lam
        forms = {
            "add": lambda: lam + whole / rest,
            "mult": lambda: 1 + lam * whole / rest,
            "ratio": lambda: whole / (rest + lam),
            "gain": lambda: lam * whole / rest,
            "none": lambda: 1,
        }
        return forms[part.scaling]()

    def one_round(t, cohort, p, w):
        nonlocal previous
        modified = []
        for i in cohort:
            delta = (w - reference.descend(s, t, i, w, lambda y, g: g)) / s.eta(t)
            r = delta
            if previous is not None and part.projection:
                r = delta - np.sum(delta * previous) / np.sum(previous**2) * previous
            first = previous is None and part.first_round == "one"
            modified.append((1 if first else scale(delta, r)) * r)
        previous = reference.mix(p, modified)
        eta_g = part.kappa * (s.lr if part.eta_g == "constant" else s.eta(t))
        return w - eta_g * previous

    return reference.rounds(s, one_round)


@pytest.mark.parametrize("by_samples", [False, True])
@pytest.mark.parametrize("params", [{}, *EXTRA], ids=str)
def test_numpy_reference(params, by_samples):
    s, part = reference.problem(by_samples=by_samples), FedDPC(**params)
    got = trajectory(s, (part,))
    np.testing.assert_allclose(got, feddpc(s, part), rtol=1e-8, atol=1e-10)

"""FedNTD: not-true distillation by hand, its invariants, and plain NumPy."""

import math

import numpy as np
import pytest
import torch

from fedbench import RunSpec, run
from fedbench.core.part import Sizes
from fedbench.methods.fedntd import FedNTD
from tests.methods import reference
from tests.methods.loss_terms import (
    agree,
    batch,
    cross_entropy_slope,
    slope,
    softmax,
    term,
    train_with,
)
from tests.methods.on_reference import trajectory

EXTRA = [{"beta": 0.3, "mix": "convex"}, {"tau": 2}, {"tau": 2, "scale_tau": False}]
NEUTRAL = [{"beta": 0}, {"beta": 0, "mix": "convex"}]

log = math.log

# Without class 0 the teacher (½, ¼, ¼) says (½, ½) and the student (¼, ¼, ½) says (1/3, 2/3)
TEACHER, STUDENT = [[log(2), 0.0, 0.0]], [[0.0, 0.0, log(2)]]
NTD = 0.5 * log(1.5) + 0.5 * log(0.75)


def test_a_sample_by_hand():
    b = batch(STUDENT, [0], TEACHER)
    assert float(term(FedNTD(), b, value=7.0)) == pytest.approx(7 + NTD, rel=1e-12)
    assert float(term(FedNTD(0.3), b, value=7.0)) == pytest.approx(7 + 0.3 * NTD, rel=1e-12)
    convex = term(FedNTD(0.3, mix="convex"), b, value=7.0)
    assert float(convex) == pytest.approx(0.7 * 7 + 0.3 * NTD, rel=1e-12)


def test_temperature_divides_the_logits_and_its_square_multiplies_the_term():
    b = batch([[0.0, 0.0, 2 * log(2)]], [0], [[2 * log(2), 0.0, 0.0]])
    assert float(term(FedNTD(tau=2.0), b)) == pytest.approx(4 * NTD, rel=1e-12)
    assert float(term(FedNTD(tau=2.0, scale_tau=False), b)) == pytest.approx(NTD, rel=1e-12)


def test_the_term_is_a_mean_over_samples():
    # the second sample's student is its teacher
    both = batch([*STUDENT, [3.0, 1.0, 2.0]], [0, 1], [*TEACHER, [3.0, 1.0, 2.0]])
    assert float(term(FedNTD(), both)) == pytest.approx(NTD / 2, rel=1e-12)


@pytest.mark.parametrize("y", [0, 1, 2, 3])
def test_a_shift_of_the_true_logit_changes_nothing(y):
    rng = np.random.default_rng(y)
    z, g = rng.normal(size=(2, 1, 4))
    shift = 10 * np.eye(4)[[y]]
    plain = float(term(FedNTD(), batch(z, [y], g)))
    assert float(term(FedNTD(), batch(z + shift, [y], g))) == pytest.approx(plain, rel=1e-12)
    assert float(term(FedNTD(), batch(z, [y], g - shift))) == pytest.approx(plain, rel=1e-12)
    moved = z + 10 * np.eye(4)[[(y + 1) % 4]]  # … but that of another logit does
    assert abs(float(term(FedNTD(), batch(moved, [y], g))) - plain) > 0.1


def test_the_true_logit_has_no_gradient():
    rng = np.random.default_rng(1)
    z, g = rng.normal(size=(2, 4, 4))
    found = slope(FedNTD(tau=3.0), z, [0, 1, 2, 3], teacher=g)
    assert not torch.diagonal(found).any()
    assert found.abs().max() > 0.01


def test_two_classes_leave_nothing_to_distil():
    b = batch([[1.0, 5.0], [2.0, 0.0]], [0, 1], [[0.0, 3.0], [7.0, 1.0]])
    assert float(term(FedNTD(), b)) == 0


def test_gradient_is_zero_where_the_student_is_the_teacher():
    z = np.random.default_rng(2).normal(size=(4, 5))
    assert slope(FedNTD(), z, [0, 1, 2, 3], teacher=z).abs().max() < 1e-15


ONE_STEP = {"epochs": 1, "batch": 100}


def test_one_step_is_fedavg_and_the_convex_mix_a_shorter_one():
    s = reference.problem(**ONE_STEP)
    near = {"rtol": 1e-10, "atol": 1e-12}
    np.testing.assert_allclose(trajectory(s, (FedNTD(),)), reference.fedavg(s), **near)
    s = reference.problem(**ONE_STEP, weight_decay=0.0)
    shorter = reference.problem(**ONE_STEP, weight_decay=0.0, lr=0.7 * s.lr)
    got = trajectory(s, (FedNTD(0.3, mix="convex"),))
    np.testing.assert_allclose(got, reference.fedavg(shorter), **near)


def others(z, y):
    """Logits without each sample's own label."""
    return np.array([np.delete(row, true) for row, true in zip(z, y, strict=True)])


def twin(s, beta, tau=1.0, squared=True, convex=False):
    def dz(i, t, x, z, y, rows):
        q, g = (softmax(others(v, y) / tau) for v in (z, s.x[rows] @ x.T))
        away = np.array([np.insert(row, true, 0) for row, true in zip(q - g, y, strict=True)])
        term = beta * (tau**2 if squared else 1) * away / tau / len(y)
        return ((1 - beta) if convex else 1) * cross_entropy_slope(z, y) + term

    return train_with(s, dz)


@pytest.mark.parametrize("beta", [0.3, 1.0])
def test_numpy_reference(beta):
    s = reference.problem()
    agree(s, (FedNTD(beta),), twin(s, beta))


def test_numpy_reference_with_options():
    s = reference.problem(by_samples=True)
    agree(s, (FedNTD(0.3, mix="convex"),), twin(s, 0.3, convex=True))
    agree(s, (FedNTD(tau=2.0),), twin(s, 1.0, 2.0))
    agree(s, (FedNTD(tau=2.0, scale_tau=False),), twin(s, 1.0, 2.0, squared=False))


def test_asd_beside_it_is_refused_with_a_hint(refuses):
    spec = RunSpec(parts=["fedntd", "asd"])
    with refuses(r"write asd: \{divergence: ntd\} alone"):
        run(spec)


def test_a_convex_mix_needs_a_share(refuses):
    with refuses(r"beta = 2\.0 must be ≤ 1"):
        FedNTD(2.0, mix="convex")
    FedNTD(2.0)


def test_cost():
    cost = FedNTD().cost(Sizes(d=10, classes=4, K=6, m=3, epochs=5, features=8))
    assert (cost.forward, cost.teachers, cost.down, cost.up) == (1, 1, 0, 0)

"""Self-confidence distillation, FedADC+'s loss: by hand, its invariants, and plain NumPy."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from fedbench.core.part import Sizes
from fedbench.methods.fedadc import FedADC
from fedbench.methods.selfconfidence import SelfConfidence
from tests.methods import reference
from tests.methods.loss_terms import (
    agree,
    batch,
    cross_entropy_slope,
    shares,
    slope,
    softmax,
    tensor,
    term,
    train_with,
    turn,
)
from tests.methods.on_reference import trajectory

EXTRA = [{"teacher": "self"}, {"tau": 2, "scale_tau": True}, {"lam": 1}]
NEUTRAL = [{"lam": 0}, {"lam": 0, "teacher": "self", "tau": 4}]

log = math.log

# shares 1/3, 2/3 and 0: ρ = (½, 1, 0); the teacher says (½, ¼, ¼), the student 1/3 each
LABELS = [2, 4, 0]
TEACHER = [[log(2), 0.0, 0.0]] * 3
STUDENT = [[0.0, 0.0, 0.0]] * 3
# y=0: p̂ = (1 − ¼, 0 · ¼, 1 · ¼); y=1: (½ · ½, 1 − ½, ¼); y=2: (¼, 0, 1 − ¼)
TARGETS = [[0.75, 0, 0.25], [0.25, 0.5, 0.25], [0.25, 0, 0.75]]


def target(teacher, y, labels, tau=1.0, which="global"):
    """p̂, read off the gradient: with λ=1 it is (softmax(z/τ) − p̂)/(τ B)."""
    part = SelfConfidence(1.0, tau=tau, teacher=which)
    z = tensor(teacher) if which == "self" else torch.zeros_like(tensor(teacher))
    g = slope(part, z, y, turn(labels), teacher)
    return torch.softmax(z / tau, 1) - g * tau * len(y)


def test_targets_by_hand():
    torch.testing.assert_close(target(TEACHER, [0, 1, 2], LABELS), tensor(TARGETS))
    # at τ=2 from logits twice as large: the same
    twice = [[2 * log(2), 0.0, 0.0]] * 3
    torch.testing.assert_close(target(twice, [0, 1, 2], LABELS, tau=2.0), tensor(TARGETS))


def test_a_loss_by_hand():
    # CE = log 3; KL(¾, 0, ¼ ‖ 1/3) = ¾ log 9/4 + ¼ log ¾
    b = batch(STUDENT[:1], [0], TEACHER[:1])
    kl = 0.75 * log(9 / 4) + 0.25 * log(3 / 4)
    got = term(SelfConfidence(0.35), b, turn(LABELS), value=log(3))
    assert float(got) == pytest.approx(0.65 * log(3) + 0.35 * kl, rel=1e-12)
    # with τ=2 and τ² on logits twice as large: four times the term
    b = batch(STUDENT[:1], [0], [[2 * log(2), 0.0, 0.0]])
    plain, scaled = (
        float(term(SelfConfidence(1.0, tau=2.0, scale_tau=on), b, turn(LABELS)))
        for on in (False, True)
    )
    assert plain == pytest.approx(kl, rel=1e-12)
    assert scaled == pytest.approx(4 * kl, rel=1e-12)


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0, 1e4])
def test_targets_are_distributions(scale):
    rng = np.random.default_rng(3)
    for z in scale * rng.normal(size=(20, 4, 5)):
        found = target(z, [0, 1, 2, 4], [3, 1, 0, 2, 7])
        assert (found > -1e-12).all()
        torch.testing.assert_close(found.sum(1), torch.ones(4, dtype=torch.float64))
        b = batch(np.zeros((4, 5)), [0, 1, 2, 4], z)
        assert term(SelfConfidence(1.0), b, turn([3, 1, 0, 2, 7])).isfinite()


def test_the_most_frequent_class_is_never_distilled_unless_true():
    found = target(np.random.default_rng(4).normal(size=(3, 3)), [0, 1, 2], LABELS)
    assert abs(float(found[0, 1])) < 1e-15
    assert abs(float(found[2, 1])) < 1e-15
    assert float(found[1, 1]) > 0.1


@pytest.mark.parametrize("lam", [0.35, 1.0])
@pytest.mark.parametrize("teacher", ["global", "self"])
def test_a_balanced_client_has_one_hot_targets_and_cross_entropy(lam, teacher):
    rng = np.random.default_rng(5)
    z, g, y = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), [0, 1, 2]
    torch.testing.assert_close(
        target(g, y, [7, 7, 7], which=teacher), torch.eye(3, dtype=torch.float64)
    )
    ce = float(F.cross_entropy(tensor(z), torch.as_tensor(y)))
    got = term(SelfConfidence(lam, teacher=teacher), batch(z, y, g), turn([7, 7, 7]), value=ce)
    assert float(got) == pytest.approx(ce, rel=1e-12)


def test_a_balanced_client_has_cross_entropy_only_at_temperature_one():
    z, y = np.random.default_rng(6).normal(size=(3, 3)), [0, 1, 2]
    ce = float(F.cross_entropy(tensor(z), torch.as_tensor(y)))
    got = term(SelfConfidence(0.35, tau=2.0), batch(z, y), turn([7, 7, 7]), value=ce)
    assert abs(float(got) - ce) > 0.01


def test_a_one_class_client_distils_the_teacher_itself():
    z = np.random.default_rng(7).normal(size=(4, 3))
    torch.testing.assert_close(target(z, [1] * 4, [0, 9, 0]), torch.softmax(tensor(z), 1))
    g = slope(SelfConfidence(1.0), z, [1] * 4, turn([0, 9, 0]), teacher=z)
    assert g.abs().max() < 1e-15  # at y = x_t


def test_no_gradient_goes_through_the_students_own_target():
    z = np.random.default_rng(8).normal(size=(3, 3))
    g = slope(SelfConfidence(1.0, teacher="self"), z, [0, 1, 2], turn(LABELS), teacher=TEACHER)
    p = softmax(z)
    wanted = (p - targets(p, np.array([0, 1, 2]), np.array(LABELS) / 6)) / 3
    np.testing.assert_allclose(g, wanted, rtol=1e-10, atol=1e-14)


def test_lambda_zero_is_fedadc():
    s, part = reference.problem(), FedADC(beta=0.5)
    base = trajectory(s, (part,))
    assert np.array_equal(trajectory(s, (part, SelfConfidence(0.0))), base)
    assert not np.allclose(trajectory(s, (part, SelfConfidence(0.35))), base)


def targets(p, y, share):
    """Equations 8 and 9, class by class."""
    rho, found = share / share.max(), np.zeros_like(p)
    for row, (probabilities, true) in enumerate(zip(p, y, strict=True)):
        for c, probability in enumerate(probabilities):
            if c != true:
                found[row, c] = (1 - rho[c]) * probability
        found[row, true] = 1 - found[row].sum()
    return found


def twin(s, lam, tau=1.0, squared=False, own=False):
    """FedAvg with the loss of equation 7."""

    def dz(i, t, x, z, y, rows):
        p = softmax((z if own else s.x[rows] @ x.T) / tau)
        away = (softmax(z / tau) - targets(p, y, shares(s, i))) / tau / len(y)
        return (1 - lam) * cross_entropy_slope(z, y) + lam * (tau**2 if squared else 1) * away

    return train_with(s, dz)


@pytest.mark.parametrize("own", [False, True])
def test_numpy_reference(own):
    s = reference.problem()
    part = SelfConfidence(0.35, teacher="self" if own else "global")
    agree(s, (part,), twin(s, 0.35, own=own))


def test_numpy_reference_with_a_temperature():
    s = reference.problem(by_samples=True)
    agree(s, (SelfConfidence(0.8, tau=2.0),), twin(s, 0.8, 2.0))
    agree(s, (SelfConfidence(0.8, tau=4.0, scale_tau=True),), twin(s, 0.8, 4.0, squared=True))


def test_lambda_is_a_share(refuses):
    with refuses(r"lam = 1\.5 is not allowed"):
        SelfConfidence(1.5)


def test_only_the_global_teacher_costs_a_pass():
    size = Sizes(d=10, classes=4, K=6, m=3, epochs=5, features=8)
    assert [SelfConfidence(teacher=w).cost(size).forward for w in ("global", "self")] == [1, 0]

"""FedLC: the calibrated loss by hand, its invariants, and plain NumPy."""

import math

import numpy as np
import pytest
import torch

from fedbench.methods.fedlc import FedLC
from fedbench.methods.fedntd import FedNTD
from fedbench.methods.fedrs import FedRS
from fedbench.methods.selfconfidence import SelfConfidence
from tests.methods import reference
from tests.methods.loss_terms import (
    agree,
    batch,
    one_hot,
    slope,
    softmax,
    tensor,
    term,
    train_with,
    turn,
)
from tests.methods.on_reference import trajectory

EXTRA = [{"tau": 0.1}, {"literal": True}, {"absent": 1}]
NEUTRAL = [{"tau": 0}]
QUICK = {"absent": 1}  # else a client with one class stands still

log = math.log
near = pytest.approx


def cross_entropy_slope(z, y, classes):
    """Gradient of the plain loss at the logits, to which that of the part's term is added."""
    return (softmax(z) - one_hot(y, classes)) / len(y)


def calibrated(z, y, labels, **options):
    """The loss of FedLC where the loss so far is the plain cross-entropy."""
    b = batch(z, y)
    plain = b.criterion(b.logits, b.y).mean()
    return float(term(FedLC(**options), b, turn(labels), plain))


def test_a_sample_by_hand():
    # 16, 1 and 81 samples: n^(−1/4) = ½, 1, ⅓; τ = 1. Logits with those margins taken off are 0, so
    # that three classes are equally likely
    z = [[1 / 2, 1.0, 1 / 3]]
    for y in range(3):
        assert calibrated(z, [y], [16, 1, 81]) == near(log(3))
    # τ = 6: the margins 3, 6 and 2 leave −3, −6 + log 2, −2: of class 1, e^{−6} 2 over the sum
    total = math.exp(-3) + 2 * math.exp(-6) + math.exp(-2)
    found = calibrated([[0.0, log(2), 0.0]], [1], [16, 1, 81], tau=6.0)
    assert found == near(-log(2 * math.exp(-6) / total))


def test_printed_without_the_true_class():
    # of the logits 0, 0, 0: −log(1 / (1 + 1)); with the true one e² times as likely, 2 less
    z = [[1 / 2, 1.0, 1 / 3]]
    assert calibrated(z, [1], [16, 1, 81], literal=True) == near(log(2))
    z = [[1 / 2, 3.0, 1 / 3]]
    assert calibrated(z, [1], [16, 1, 81], literal=True) == near(log(2) - 2)


def test_the_printed_loss_has_no_lower_bound():
    far = [calibrated([[k, 0.0]], [0], [1, 1], literal=True) for k in (1.0, 10.0, 100.0)]
    assert far == near([-1.0, -10.0, -100.0])
    assert calibrated([[100.0, 0.0]], [0], [1, 1]) == near(0.0, abs=1e-12)


def test_a_loss_is_a_mean_over_samples_and_added_to_the_rest():
    z, y = [[1.0, 2.0, 0.0], [0.5, -1.0, 3.0]], [0, 2]
    alone = [calibrated([row], [label], [4, 2, 9]) for row, label in zip(z, y, strict=True)]
    assert calibrated(z, y, [4, 2, 9]) == near(sum(alone) / 2)
    b = batch(z, y)
    plain = float(b.criterion(b.logits, b.y).mean())
    got = float(term(FedLC(), b, turn([4, 2, 9]), plain + 7.0))
    assert got == near(7 + sum(alone) / 2)


@pytest.mark.parametrize("tau", [0.1, 1.0, 5.0])
def test_equal_numbers_change_nothing(tau):
    z = np.random.default_rng(0).normal(size=(5, 3))
    y = [0, 1, 2, 0, 1]
    plain = calibrated(z, y, [6, 6, 6], tau=0.0)
    assert calibrated(z, y, [6, 6, 6], tau=tau) == near(plain, rel=1e-12)


def test_rare_classes_get_the_wider_margin():
    # at equal logits the gradient pushes the rarer label up more
    # than the cross-entropy does, and the more frequent one less
    more = [-slope(FedLC(), [[0.0, 0.0]], [y], turn([100.0, 1.0]))[0, y] for y in (0, 1)]
    assert more[0] < 0 < more[1]


def test_a_class_that_is_not_there_is_left_out_of_the_sum():
    z = np.random.default_rng(1).normal(size=(4, 3))
    y = [0, 1, 1, 0]
    g = slope(FedLC(), z, y, turn([5.0, 5.0, 0.0])) + tensor(cross_entropy_slope(z, y, 3))
    assert (g[:, 2].abs() < 1e-15).all()
    torch.testing.assert_close(g[:, :2], tensor(cross_entropy_slope(z[:, :2], y, 2)))
    # with the count 1 it takes part
    g = slope(FedLC(absent=1.0), z, y, turn([5.0, 5.0, 0.0]))
    g = g + tensor(cross_entropy_slope(z, y, 3))
    assert (g[:, 2] > 1e-3).all()


def test_a_client_with_one_class_learns_nothing_of_others():
    z = np.random.default_rng(2).normal(size=(4, 3))
    y = [1, 1, 1, 1]
    g = slope(FedLC(), z, y, turn([0.0, 9.0, 0.0])) + tensor(cross_entropy_slope(z, y, 3))
    torch.testing.assert_close(g, torch.zeros_like(g), rtol=0, atol=1e-12)


def test_it_stands_before_what_weighs_the_cross_entropy(refuses):
    for other in (FedNTD(), SelfConfidence()):
        with refuses("must stand after 'fedlc'"):
            trajectory(reference.problem(), (other, FedLC()))


def test_beside_it_fedrs_would_do_nothing(refuses):
    for parts in ((FedLC(), FedRS()), (FedRS(), FedLC())):
        with refuses("FedLC leaves out classes that a client does not have"):
            trajectory(reference.problem(), parts)


def twin(s, tau, literal, absent):
    """Softmax regression with the margins of each client's own class counts."""

    def dz(i, t, x, z, y, rows):
        n = np.maximum(np.bincount(s.y[s.rows[i]], minlength=4), absent)
        c = z - tau / np.sqrt(np.sqrt(n))
        if literal:  # −c_y + log Σ_{j≠y} e^{c_j}
            c = np.where(one_hot(y) > 0, -np.inf, c)
        return (softmax(c) - one_hot(y)) / len(y)

    return train_with(s, dz)


@pytest.mark.parametrize(
    ("tau", "literal", "absent"),
    [(1.0, False, 1e-8), (0.1, False, 1e-8), (3.0, False, 1.0), (1.0, True, 1e-8)],
)
def test_numpy_reference(tau, literal, absent):
    s = reference.problem()
    agree(s, (FedLC(tau, literal, absent),), twin(s, tau, literal, absent))


def test_numpy_reference_by_samples():
    s = reference.problem(by_samples=True)
    agree(s, (FedLC(),), twin(s, 1.0, False, 1e-8))

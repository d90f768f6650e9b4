"""ASD: adaptive self-distillation, worked by hand, its invariants, and plain NumPy."""

import math

import numpy as np
import pytest
import torch

from fedbench.core.part import Part, Sizes
from fedbench.methods.asd import ASD
from tests.methods import reference
from tests.methods.loss_terms import (
    agree,
    batch,
    cross_entropy_slope,
    one_hot,
    shares,
    slope,
    softmax,
    tensor,
    term,
    train_with,
    turn,
)
from tests.methods.on_reference import trajectory

EXTRA = [
    {"divergence": "reverse"},
    {"divergence": "js"},
    {"divergence": "ntd"},
    {"divergence": "ntd", "literal": True, "lam": 3},
    {"weights": "uniform"},
    {"entropy": "plain", "entropy_power": 2, "share_power": 0.5},
]
NEUTRAL = [{"lam": 0}, *({"lam": 0, "divergence": name} for name in ("reverse", "js", "ntd"))]

EVERY = pytest.mark.parametrize("divergence", ["kl", "reverse", "js", "ntd"])
log = math.log

# q_g = (¾, ¼) and (½, ½) at τ=2; the student says (½, ½) and (¼, ¾)
TEACHER = [[2 * log(3), 0.0], [0.0, 0.0]]
STUDENT = [[0.0, 0.0], [0.0, 2 * log(3)]]
KL = [0.75 * log(1.5) + 0.25 * log(0.5), 0.5 * log(2) + 0.5 * log(2 / 3)]
# client with one sample of class 0 for three of class 1: α̂ = exp(−H)/p, exp(−H) = Π q^q
HATS = [0.75**0.75 * 0.25**0.25 / 0.25, 0.5 / 0.75]
ALPHA = [h / sum(HATS) for h in HATS]


def example(teacher=TEACHER, student=STUDENT, y=(0, 1), **options):
    return term(ASD(lam=1.0, **options), batch(student, y, teacher), turn([1, 3]))


def test_a_batch_by_hand():
    wanted = ALPHA[0] * KL[0] + ALPHA[1] * KL[1]
    assert float(example()) == pytest.approx(wanted, rel=1e-12)


def test_lambda_multiplies_the_weighted_sum_and_the_rest_of_the_loss_stays():
    b = batch(STUDENT, [0, 1], TEACHER)
    got = term(ASD(lam=30.0), b, turn([1, 3]), value=7.0)
    assert float(got) == pytest.approx(7 + 30 * float(example()), rel=1e-12)


def test_uniform_weights_are_lambda_times_the_mean():
    assert float(example(weights="uniform")) == pytest.approx(sum(KL) / 2, rel=1e-12)


def test_plain_entropy_is_of_the_untempered_softmax():
    # at τ=1 the first teacher says (9/10, 1/10): exp(−H) = 0.9^0.9 0.1^0.1
    hats = [0.9**0.9 * 0.1**0.1 / 0.25, 0.5 / 0.75]
    wanted = (hats[0] * KL[0] + hats[1] * KL[1]) / sum(hats)
    assert float(example(entropy="plain")) == pytest.approx(wanted, rel=1e-12)


def test_powers_of_the_two_factors_of_the_weight():
    hats = [(0.75**0.75 * 0.25**0.25) ** 2 / 0.25**0.5, 0.25 / 0.75**0.5]
    wanted = (hats[0] * KL[0] + hats[1] * KL[1]) / sum(hats)
    got = example(entropy_power=2, share_power=0.5)
    assert float(got) == pytest.approx(wanted, rel=1e-12)
    none = example(entropy_power=0, share_power=0)
    assert float(none) == pytest.approx(sum(KL) / 2, rel=1e-12)


def test_reverse_and_jensen_shannon_by_hand():
    reverse = [0.5 * log(2 / 3) + 0.5 * log(2), 0.25 * log(0.5) + 0.75 * log(1.5)]
    wanted = ALPHA[0] * reverse[0] + ALPHA[1] * reverse[1]
    assert float(example(divergence="reverse")) == pytest.approx(wanted, rel=1e-12)
    # the middle of (¾, ¼) and (½, ½) is (5/8, 3/8), that of the second sample (3/8, 5/8)
    one = 0.75 * log(6 / 5) + 0.25 * log(2 / 3)
    other = 0.5 * log(4 / 5) + 0.5 * log(4 / 3)
    assert float(example(divergence="js")) == pytest.approx((one + other) / 2, rel=1e-12)


# three classes, one sample of class 0, τ=2: q_g = (½, ¼, ¼), q_y = (¼, ¼, ½)
TEACHER_3, STUDENT_3 = [[2 * log(2), 0.0, 0.0]], [[0.0, 0.0, 2 * log(2)]]


def test_not_true_distillation_by_hand():
    # without class 0: (½, ½) against (1/3, 2/3)
    b = batch(STUDENT_3, [0], TEACHER_3)
    wanted = 0.5 * log(1.5) + 0.5 * log(0.75)
    assert float(term(ASD(1.0, divergence="ntd"), b)) == pytest.approx(wanted, rel=1e-12)
    # equation 17 as printed: ¼ log(¼ / ¼) + ¼ log(¼ / ½)
    got = float(term(ASD(1.0, divergence="ntd", literal=True), b))
    assert got == pytest.approx(-0.25 * log(2), rel=1e-12)


def test_not_true_distillation_keeps_the_weights_of_the_full_softmax():
    # a shift of the teacher's true logit changes H and so α, but no divergence
    student = [[0.0, 0.0, 1.0], [0.0, 2.0, 0.0]]
    part, values = ASD(1.0, divergence="ntd"), []
    for shift in (0.0, 5.0):
        teacher = [[1.0 + shift, 0.3, 0.0], [0.1, 0.0, 0.4]]
        values.append(float(term(part, batch(student, [0, 0], teacher))))
    assert abs(values[0] - values[1]) > 1e-3


@pytest.mark.parametrize("who", ["teacher", "student"])
def test_a_shift_of_the_true_logit_changes_no_uniform_ntd(who):
    logits = {"teacher": [[1.0, 0.2, -0.3]], "student": [[0.1, 0.9, -0.5]]}
    part, values = ASD(1.0, divergence="ntd", weights="uniform"), []
    for shift in (0.0, 3.0):
        moved = {**logits, who: [[logits[who][0][0] + shift, *logits[who][0][1:]]]}
        values.append(float(term(part, batch(moved["student"], [0], moved["teacher"]))))
    assert values[0] == pytest.approx(values[1], rel=1e-12)
    g = slope(part, logits["student"], [0], teacher=logits["teacher"])
    assert g[0, 0] == 0
    assert g.abs().max() > 0.01


def alphas(teacher, y, labels, **options):
    """α, read off the gradient: row j is α_j (q_y − q_g)/τ."""
    student = tensor(teacher) + tensor([1.0, *[0.0] * (len(teacher[0]) - 1)])
    g = slope(ASD(1.0, **options), student, y, turn(labels), teacher)
    q = [torch.softmax(tensor(z) / 2, 1) for z in (student, teacher)]
    ratio = g / ((q[0] - q[1]) / 2)
    assert torch.allclose(ratio, ratio[:, :1].expand_as(ratio))
    return ratio[:, 0]


RANDOM = np.random.default_rng(1).normal(size=(6, 4))


def test_weights_sum_to_one_and_no_gradient_goes_through_them():
    got = alphas(RANDOM, [0, 1, 2, 3, 0, 1], [1, 2, 3, 4])
    assert float(got.sum()) == pytest.approx(1, rel=1e-12)
    q = softmax(RANDOM / 2)
    hats = np.exp((q * np.log(q)).sum(1)) / np.array([1, 2, 3, 4, 1, 2])
    np.testing.assert_allclose(got, hats / hats.sum(), rtol=1e-10)


def test_the_scale_of_the_shares_does_not_matter():
    y = [0, 1, 2, 3, 0, 1]
    few, many = (alphas(RANDOM, y, [n, 2 * n, 3 * n, 4 * n]) for n in (1, 50))
    torch.testing.assert_close(few, many, rtol=1e-12, atol=0)


def test_a_balanced_client_with_equal_entropies_has_uniform_weights():
    teacher = [[1.0, 0.0, 0.5], [0.5, 1.0, 0.0], [0.0, 0.5, 1.0]]
    got = alphas(teacher, [0, 1, 2], [7, 7, 7])
    torch.testing.assert_close(got, torch.full_like(got, 1 / 3), rtol=1e-12, atol=0)


def test_with_a_single_class_the_weights_depend_on_the_entropy_only():
    one, other = alphas(RANDOM, [2] * 6, [0, 0, 9, 0]), alphas(RANDOM, [2] * 6, [5, 5, 1, 5])
    torch.testing.assert_close(one, other, rtol=1e-12, atol=0)
    q = softmax(RANDOM / 2)
    hats = np.exp((q * np.log(q)).sum(1))
    np.testing.assert_allclose(one, hats / hats.sum(), rtol=1e-10)


@EVERY
def test_the_gradient_is_zero_where_the_student_is_the_teacher(divergence):
    g = slope(ASD(30.0, divergence=divergence), RANDOM, [0, 1, 2, 3, 0, 1], teacher=RANDOM)
    assert g.abs().max() < 1e-14
    value = term(ASD(30.0, divergence=divergence), batch(RANDOM, [0] * 6, RANDOM))
    assert abs(float(value)) < 1e-14


def test_equation_17_taken_literally_has_a_gradient_there():
    # q_j (1 − q_y) − q_j [j ≠ y]: q_y (1 − q_y) on the true class, −q_j q_y on the others
    q = softmax(RANDOM[:1] / 2)[0]
    g = slope(ASD(1.0, divergence="ntd", literal=True), RANDOM[:1], [0], teacher=RANDOM[:1])
    wanted = [q[0] * (1 - q[0]), *(-q[1:] * q[0])]
    np.testing.assert_allclose(g[0], np.array(wanted) / 2, rtol=1e-10)


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0, 1e4])
def test_jensen_shannon_lies_between_zero_and_log_two(scale):
    rng = np.random.default_rng(2)
    for z, g in scale * rng.normal(size=(20, 2, 1, 5)):
        value = float(term(ASD(1.0, divergence="js"), batch(z, [0], g)))
        assert -1e-12 <= value <= log(2) + 1e-12
    far = term(ASD(1.0, divergence="js"), batch([[1e5, 0.0]], [0], [[0.0, 1e5]]))
    assert float(far) == pytest.approx(log(2))


@EVERY
def test_confident_logits_give_finite_losses_and_gradients(divergence):
    z, g = [[500.0, -500.0, 0.0]], [[-500.0, 500.0, 0.0]]
    part = ASD(1.0, divergence=divergence)
    assert term(part, batch(z, [0], g)).isfinite()
    assert slope(part, z, [0], teacher=g).isfinite().all()


ONE_STEP = {"epochs": 1, "batch": 100}


@EVERY
def test_one_step_is_fedavg(divergence):
    s = reference.problem(**ONE_STEP)
    got = trajectory(s, (ASD(30.0, divergence=divergence),))
    np.testing.assert_allclose(got, reference.fedavg(s), rtol=1e-10, atol=1e-12)


class Sharp(Part):
    """Takes the gradient a little uphill, as FedSAM does."""

    def grad(self, inner, w, t):
        return inner(w + 0.2 * inner(w))


def weights_of(g, y, p):
    hats = np.exp((g * np.log(g)).sum(1)) / p[y]
    return hats / hats.sum()


def through_softmax(q, v):
    """Gradient at z of a function of q = softmax z with dL/dq = v."""
    return q * (v - (q * v).sum(1, keepdims=True))


def slopes(divergence, g, q, y):
    """τ · dD/dz, one row a sample."""
    if divergence == "reverse":
        return through_softmax(q, np.log(q / g) + 1)
    if divergence == "js":
        return through_softmax(q, 0.5 * np.log(q / ((q + g) / 2)))
    other = 1 - one_hot(y)
    if divergence == "literal":
        return q * (g * other).sum(1, keepdims=True) - g * other
    if divergence == "ntd":
        q, g = (v * other / (v * other).sum(1, keepdims=True) for v in (q, g))
    return q - g


def twin(s, divergence="kl", lam=3.0, tau=2.0, uniform=False, plain=False, sharp=False):
    """Equations 2 to 12, and 17 to 19."""

    def dz(i, t, x, z, y, rows):
        teacher = s.x[rows] @ x.T
        g, q = softmax(teacher / tau), softmax(z / tau)
        alpha = weights_of(softmax(teacher) if plain else g, y, shares(s, i))
        alpha = np.full(len(y), 1 / len(y)) if uniform else alpha
        extra = alpha[:, None] * slopes(divergence, g, q, y)
        return cross_entropy_slope(z, y) + lam / tau * extra

    def uphill(i, t, x, z, y, rows):
        g = dz(i, t, x, z, y, rows).T @ s.x[rows]
        return dz(i, t, x, z + 0.2 * s.x[rows] @ g.T, y, rows)

    return train_with(s, uphill if sharp else dz)


@EVERY
def test_numpy_reference(divergence):
    s = reference.problem()
    agree(s, (ASD(3.0, divergence=divergence),), twin(s, divergence))


def test_numpy_reference_with_options():
    s = reference.problem(by_samples=True)
    agree(s, (ASD(3.0, weights="uniform"),), twin(s, uniform=True))
    agree(s, (ASD(3.0, entropy="plain"),), twin(s, plain=True))
    agree(s, (ASD(3.0, tau=1.0),), twin(s, tau=1.0))
    agree(s, (ASD(3.0, divergence="ntd", literal=True),), twin(s, "literal"))


def test_the_term_is_in_every_evaluation_of_the_gradient():
    s = reference.problem()
    agree(s, (Sharp(), ASD(3.0)), twin(s, sharp=True))


def test_the_teacher_costs_a_pass_that_could_be_kept():
    cost = ASD().cost(Sizes(d=10, classes=4, K=6, m=3, epochs=5, features=8))
    assert (cost.forward, cost.teachers, cost.backward, cost.down, cost.up) == (1, 1, 0, 0, 0)

"""FedUV: both terms by hand, their invariants, and a network of two layers in plain NumPy."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from fedbench.methods.feduv import FedUV
from fedbench.models.architecture import BodyHead
from tests.methods import reference
from tests.methods.loss_terms import batch, one_hot, slope, softmax, tensor, term
from tests.methods.on_reference import trajectory

EXTRA = [{"lam": 5.0, "mu": 0}, {"lam": 0, "mu": 2.0}]
NEUTRAL = [{"lam": 0, "mu": 0}]


def with_features(features, logits=None):
    """A batch of which the network has these features, and logits that are all 0."""
    b = batch([[0.0, 0.0]] * len(features) if logits is None else logits, [0] * len(features))
    b.features = tensor(features)
    return b


def test_the_variance_by_hand():
    # probabilities (4/5, 1/5) and (1/5, 4/5): both deviations are √(2 · 0.09) = 0.4243 over two
    # samples, 1/√2 − 0.4243 = 0.2828 short
    z = [[math.log(4), 0.0], [0.0, math.log(4)]]
    got = float(term(FedUV(2.0, 0.0), batch(z, [0, 1]), value=7.0))
    assert got == pytest.approx(7 + 2 * (math.sqrt(0.5) - math.sqrt(0.18)), rel=1e-12)


def test_one_hot_outputs_of_all_classes_lack_no_variance():
    z = 1e3 * np.eye(4)
    assert float(term(FedUV(1.0, 0.0), batch(z, range(4)))) == pytest.approx(0, abs=1e-12)
    # and any constant output lacks all of it
    z = np.tile([[3.0, 1.0, 0.0, 0.0]], (5, 1))
    assert float(term(FedUV(1.0, 0.0), batch(z, [0] * 5))) == pytest.approx(0.5, rel=1e-12)


def test_the_uniformity_by_hand():
    # on a line at 0, 1 and 3: squared distances 1, 9, 4, of which the median is 4
    b = with_features([[0.0], [1.0], [3.0]])
    wanted = (math.exp(-1 / 4) + math.exp(-9 / 4) + math.exp(-1)) / 3
    assert float(term(FedUV(0.0, 0.5), b, value=7.0)) == pytest.approx(7 + 0.5 * wanted, rel=1e-12)


def test_of_distances_that_are_zero_the_median_knows_nothing():
    # 0, 0, 0, 2: three distances of 0, three squares of 4; with an even number the lower one counts
    b = with_features([[0.0], [0.0], [0.0], [2.0]])
    assert float(term(FedUV(0.0, 1.0), b)) == pytest.approx((3 + 3 * math.exp(-1)) / 6, rel=1e-12)
    b = with_features([[0.0], [0.0], [1.0]])  # squares 1, 1
    assert float(term(FedUV(0.0, 1.0), b)) == pytest.approx((1 + 2 * math.exp(-1)) / 3, rel=1e-12)


def test_the_uniformity_does_not_depend_on_the_features_scale():
    h = np.random.default_rng(0).normal(size=(6, 3))
    one, other = (float(term(FedUV(0.0, 1.0), with_features(k * h))) for k in (1.0, 10.0))
    assert one == pytest.approx(other, rel=1e-12)
    h = tensor(h).requires_grad_()
    b = with_features(h.detach())
    b.features = h
    (g,) = torch.autograd.grad(term(FedUV(0.0, 1.0), b), h)
    assert float((g * h.detach()).sum()) == pytest.approx(0, abs=1e-12)
    assert g.abs().max() > 1e-3


@pytest.mark.parametrize("features", [[[1.0, 2.0]] * 3, [[0.0, 0.0]] * 2])
def test_equal_samples_have_no_gradient(features):
    h = tensor(features).requires_grad_()
    b = with_features(h.detach())
    b.features = h
    value = term(FedUV(0.0, 1.0), b)
    (g,) = torch.autograd.grad(value, h)
    assert float(value.detach()) == 1
    assert torch.equal(g, torch.zeros_like(g))
    assert not slope(FedUV(1.0, 0.0), [[1.0, 2.0]] * 3, [0] * 3).isnan().any()


def test_a_single_sample_has_no_terms():
    assert float(term(FedUV(9.0, 9.0), batch([[1.0, 2.0]], [0]), value=7.0)) == 7


WIDTH = 3


def network():
    """W x with three features, then A h + b."""
    torch.manual_seed(1)
    return BodyHead(nn.Linear(5, WIDTH, bias=False), nn.Linear(WIDTH, 4)).double()


def problem(**changes):
    """The reference's setting, of which x_0 is that of `network`."""
    start = nn.utils.parameters_to_vector(network().parameters()).detach().numpy()
    return replace(reference.problem(**changes), w0=start)


def slope_of_variance(z):
    """dV/dz (B, C), through deviations s_c and the softmax q."""
    q, (B, C) = softmax(z), z.shape
    s = q.std(axis=0, ddof=1)
    short = s < 1 / math.sqrt(C)
    dq = -(q - q.mean(axis=0)) / ((B - 1) * s) * short / C
    return q * (dq - (q * dq).sum(axis=1, keepdims=True))


def slope_of_uniformity(h):
    """dU/dh (B, F), σ = ‖h_a − h_b‖² of the pair whose distance is the median."""
    pairs = [(i, j) for i in range(len(h)) for j in range(i)]
    squares = [((h[i] - h[j]) ** 2).sum() for i, j in pairs]
    middle = np.argsort(squares)[(len(pairs) - 1) // 2]
    sigma, g = squares[middle], np.zeros_like(h)
    for (i, j), square in zip(pairs, squares, strict=True):
        u = math.exp(-square / sigma) / len(pairs)
        for (k, m), factor in (((i, j), -u / sigma), (pairs[middle], u * square / sigma**2)):
            g[k] += factor * 2 * (h[k] - h[m])
            g[m] -= factor * 2 * (h[k] - h[m])
    return g


def twin(s, lam, mu):
    """CE + λ V + μ U by hand-written backpropagation."""
    W, A, _ = (p.detach().numpy() for p in network().parameters())
    ends = np.cumsum([W.size, A.size])

    def one_round(t, cohort, p, x):
        ys = []
        for i in cohort:
            y = x
            for rows in s.batches(t, i):
                W_, A_, b_ = np.split(y, ends)
                inputs, W_, A_ = s.x[rows], W_.reshape(W.shape), A_.reshape(A.shape)
                h = inputs @ W_.T
                z = h @ A_.T + b_
                dz = (softmax(z) - one_hot(s.y[rows])) / len(rows)
                dh = 0
                if len(rows) > 1:
                    dz = dz + lam * slope_of_variance(z)
                    dh = mu * slope_of_uniformity(h)
                dh = dh + dz @ A_
                g = np.concatenate([(dh.T @ inputs).ravel(), (dz.T @ h).ravel(), dz.sum(axis=0)])
                y = y - s.eta(t) * (g + s.weight_decay * y)
            ys.append(y)
        return reference.mix(p, ys)

    return reference.rounds(s, one_round)


@pytest.mark.parametrize(("lam", "mu"), [(2.5, 0.5), (2.5, 0.0), (0.0, 2.0)])
def test_numpy_reference(lam, mu):
    for by_samples in (False, True):
        s = problem(by_samples=by_samples)
        got, want = trajectory(s, (FedUV(lam, mu),), network()), twin(s, lam, mu)
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10)
        assert np.abs(want[-1] - twin(s, 0.0, 0.0)[-1]).max() > 1e-2

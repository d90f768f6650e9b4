"""FedDecorr: the correlations of a batch by hand, their invariants, and plain NumPy."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from fedbench import Dataset, Machine, RunSpec, run
from fedbench.methods.feddecorr import FedDecorr
from fedbench.models.architecture import BodyHead
from tests.methods import reference
from tests.methods.loss_terms import batch, softmax, tensor, term
from tests.methods.on_reference import Film

EXTRA = [{"times_batch": True}, {"beta": 10}]
NEUTRAL = [{"beta": 0}, {"beta": 0, "times_batch": True}]

near = pytest.approx


def of(features, value=0.0, **options):
    """The loss with the term, for features (B, d) whatever the logits are."""
    b = batch(features, [0] * len(features))
    return float(term(FedDecorr(1.0, **options), b, SimpleNamespace(), value))


def test_two_features_by_hand():
    # z-scores (1, 1, −1, −1) and (1, −1, 1, −1): K is the unit matrix; its squares' mean is ½
    square = [[3.0, 2.0], [3.0, 0.0], [1.0, 2.0], [1.0, 0.0]]
    assert of(square) == near(1 / 2)
    # the second is the first, turned round: all K_ij² are 1, and the loss so far is added to it
    line = [[3.0, -1.0], [3.0, -1.0], [1.0, 7.0], [1.0, 7.0]]
    assert of(line, value=7.0) == near(7 + 1)


def test_a_correlation_of_a_half():
    # (1, 0, −1) and (1, −1, 0): covariance 1/3, variances 2/3: K_12 = ½; (1 + ¼ + ¼ + 1) / 4
    half = [[1.0, 1.0], [0.0, -1.0], [-1.0, 0.0]]
    assert of(half) == near(2.5 / 4)
    # as released: Σ z_1 z_2 = 2 K = 1 of z-scores with the sample variance; its square / 3 samples
    assert of(half, times_batch=True) == near(1 / 3)


def test_beta_is_a_factor():
    b = batch([[1.0, 1.0], [0.0, -1.0], [-1.0, 0.0]], [0, 1, 0])
    assert float(term(FedDecorr(0.3), b)) == near(0.3 * 2.5 / 4)
    assert float(term(FedDecorr(), b)) == near(0.1 * 2.5 / 4)


def test_as_released_by_numpys_own_correlations():
    z = np.random.default_rng(1).normal(size=(9, 4)) @ np.array([[1.0, 2, 0, 0]] * 4)
    z += np.random.default_rng(2).normal(size=z.shape)
    K = np.corrcoef(z.T)
    assert of(z) == near((K**2).mean(), rel=1e-6)
    # z-scores of the sample variance, summed products, mean of the squares beside the diagonal / N
    scores = (z - z.mean(0)) / z.std(0, ddof=1)
    sums = scores.T @ scores
    released = (sums**2)[~np.eye(4, dtype=bool)].mean() / len(z)
    assert of(z, times_batch=True) == near(released, rel=1e-6)
    beside = (K**2)[~np.eye(4, dtype=bool)].mean()
    assert released / beside == near(64 / 9)  # (N−1)²/N: about the N = 9 samples


@pytest.mark.parametrize("times_batch", [False, True])
def test_neither_scale_nor_shift_of_a_feature_matters(times_batch):
    z = np.random.default_rng(3).normal(size=(6, 3))
    moved = z * np.array([2.0, -5.0, 0.5]) + np.array([10.0, 0.0, -3.0])
    plain = of(z, times_batch=times_batch)
    assert of(moved, times_batch=times_batch) == near(plain, rel=1e-6)
    assert of(z[::-1].copy(), times_batch=times_batch) == near(plain)


def test_a_batch_of_one_sample_and_a_constant_feature_have_none():
    assert of([[3.0, 4.0]], value=7.0) == 7.0
    z = tensor([[1.0, 2.0], [1.0, 3.0]]).requires_grad_()
    b = batch([[0.0, 0.0]] * 2, [0, 1])
    b.features = z
    value = term(FedDecorr(1.0), b)
    assert float(value.detach()) == near(1 / 4)  # of the other feature with itself
    (g,) = torch.autograd.grad(value, z)
    assert g.isfinite().all()


def test_features_of_any_shape_are_taken_as_rows():
    z = np.random.default_rng(4).normal(size=(5, 2, 3))
    assert of(z) == near(of(z.reshape(5, 6)))


def test_one_feature_has_nothing_to_be_uncorrelated_with():
    z = [[1.0], [2.0], [4.0]]
    assert of(z) == near(1)
    assert of(z, times_batch=True) == 0


def test_training_with_it_makes_features_less_correlated():
    def correlation(beta):
        w = trained(reference.problem(sampled=6), beta, lr=0.1)[-1]
        z = reference.problem().x @ w[:15].reshape(3, 5).T
        return (np.corrcoef(z.T) ** 2).mean()

    assert correlation(1.0) < 0.9 * correlation(0.0)


# A linear body of three features and a linear head, on the reference's data


def first():
    return np.random.default_rng(7).normal(size=(3, 5)), np.random.default_rng(8).normal(
        size=(4, 3)
    )


def trained(s, beta, lr=0.3, **options):
    """The flat models x_1 … x_T of fedbench."""
    body, head = (nn.Linear(n, m, bias=False, dtype=torch.float64) for n, m in ((5, 3), (3, 4)))
    for layer, w in zip((body, head), first(), strict=True):
        layer.weight.data = tensor(w)
    data = Dataset("reference", s.x, s.y, s.x, s.y, classes=4)
    spec = RunSpec(
        **{"clients": 6, "participation": s.sampled / 6, "rounds": s.rounds, "epochs": s.epochs},
        **{"batch": s.batch, "lr": lr, "lr_decay": s.decay, "weight_decay": s.weight_decay},
        **{"seed": s.seed, "precision": "float64"},
    )
    film = Film()
    parts = (FedDecorr(beta, **options), film)
    rules = {"data": data, "model": BodyHead(body, head), "partition": s.rows, "parts": parts}
    run(spec, machine=Machine(device="cpu", workers=1), **rules)
    return np.array([w.numpy() for w in film.frames])


def slope(z, times_batch):
    """The gradient (B, d) of the term at features z, by the chain rule through the z-scores."""
    B, d = z.shape
    centred = z - z.mean(0)
    width = np.sqrt((centred**2).mean(0) + 1e-8)
    score = centred / width
    K = score.T @ score / B
    dK = 2 * K / d**2
    if times_batch:
        dK = 2 * K * (1 - np.eye(d)) / (d * d - d) * (B - 1) ** 2 / B
    dscore = 2 * score @ dK / B
    dcentred = (dscore - score * (dscore * score).mean(0)) / width
    return dcentred - dcentred.mean(0)


def twin(s, beta, times_batch):
    """Backpropagation by hand through both layers."""
    rounds, (V, W) = [], first()
    for t in range(s.rounds):
        ends = []
        for i in s.cohort(t):
            v, w = V, W
            for rows in s.batches(t, i):
                x, y = s.x[rows], s.y[rows]
                z = x @ v.T
                e = (softmax(z @ w.T) - np.eye(4)[y]) / len(rows)
                dz = e @ w
                if len(rows) > 1:
                    dz = dz + beta * slope(z, times_batch)
                gv, gw = dz.T @ x, e.T @ z
                v = v - s.eta(t) * (gv + s.weight_decay * v)
                w = w - s.eta(t) * (gw + s.weight_decay * w)
            ends.append((v, w))
        V, W = (np.mean(layer, axis=0) for layer in zip(*ends, strict=True))
        rounds.append(np.concatenate([V.ravel(), W.ravel()]))
    return np.array(rounds)


@pytest.mark.parametrize(("beta", "times_batch"), [(0.1, False), (2.0, False), (0.3, True)])
def test_numpy_reference(beta, times_batch):
    s = reference.problem()
    assert any(
        len(rows) == 1 for t in range(s.rounds) for i in s.cohort(t) for rows in s.batches(t, i)
    )
    want = twin(s, beta, times_batch)
    assert np.abs(want[-1] - twin(s, 0.0, times_batch)[-1]).max() > 1e-4, "the method must matter"
    got = trained(s, beta, times_batch=times_batch)
    np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10)


def test_it_needs_features(refuses):
    data = Dataset("x", np.ones((4, 2)), np.arange(4) % 2, np.ones((4, 2)), np.arange(4) % 2, 2)
    with refuses("FedDecorr needs a module with children 'body' and 'head'"):
        run(RunSpec(clients=1, parts=["feddecorr"]), data=data, model=nn.Linear(2, 2))

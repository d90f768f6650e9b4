"""FedRS: the restricted softmax by hand, its invariants, and plain NumPy."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from fedbench import Dataset, Machine, RunSpec, run
from fedbench.methods.fedrs import FedRS
from tests.methods import reference
from tests.methods.loss_terms import (
    agree,
    batch,
    one_hot,
    shares,
    softmax,
    tensor,
    train_with,
    turn,
)
from tests.methods.on_reference import trajectory

EXTRA = [{"soft": True}, {"alpha": 0}]
NEUTRAL = [{"alpha": 1}, {"alpha": 1, "soft": True}]


def scaled(z, labels, **options):
    b = batch(z, [0] * len(z))
    return FedRS(**options).logits(b.logits, b, turn(labels))


def test_absent_classes_are_scaled_and_a_negative_logit_goes_up():
    # 3 and 1 samples of classes 0 and 2, none of class 1
    z = [[2.0, 4.0, -1.0], [1.0, -6.0, 5.0]]
    wanted = [[2.0, 2.0, -1.0], [1.0, -3.0, 5.0]]
    assert torch.equal(scaled(z, [3, 0, 1]), tensor(wanted))
    assert torch.equal(scaled(z, [3, 0, 1], alpha=0.0)[:, 1], torch.zeros(2, dtype=torch.float64))


def test_soft_factors_follow_the_shares():
    # shares over the largest: 1, 0, 1/3; factors 1, ½, ⅓ · ½ + ½ = ⅔
    got = scaled([[1.0, 1.0, 1.0]], [3, 0, 1], soft=True)
    torch.testing.assert_close(got, tensor([[1.0, 0.5, 2 / 3]]))


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.3, 0.5, 0.7])
def test_a_client_with_all_classes_is_unaffected(alpha):
    z = np.random.default_rng(0).normal(size=(5, 3))
    assert torch.equal(scaled(z, [1, 5, 2], alpha=alpha), tensor(z))


@pytest.mark.parametrize("soft", [False, True])
def test_alpha_one_changes_no_bit(soft):
    z = np.random.default_rng(0).normal(size=(5, 3))
    assert torch.equal(scaled(z, [1, 0, 2], alpha=1.0, soft=soft), tensor(z))


def cloud(classes=(0, 2)):
    """Samples of classes 0 and 2 of three."""
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(8, 4)), rng.choice(classes, 8)
    return Dataset("cloud", x, y, x, y, 3)


ONE_STEP = {"clients": 1, "rounds": 1, "steps": 1, "batch": None, "precision": "float64"}


def one_step(alpha, weight_decay=0.0):
    """(weights before, the step's gradient (3, 4), data) of one step on a linear classifier."""
    data, model = cloud(), nn.Linear(4, 3, bias=False, dtype=torch.float64)
    torch.manual_seed(1)
    nn.init.normal_(model.weight)
    spec = RunSpec(**ONE_STEP, lr=1.0, weight_decay=weight_decay)
    share = {"data": data, "model": model, "partition": [np.arange(8)]}
    end = run(
        spec, machine=Machine(device="cpu", workers=1), parts=(FedRS(alpha),), **share
    ).weights
    before = model.weight.detach()
    return before, before - end.reshape(3, 4), data


def test_with_alpha_zero_an_absent_row_stands_still_but_for_weight_decay():
    _, g, _ = one_step(0.0)
    assert not g[1].any()
    assert g[0].abs().min() > 0
    w, g, _ = one_step(0.0, weight_decay=0.1)
    torch.testing.assert_close(g[1], 0.1 * w[1])


def test_the_gradient_of_an_absent_row_is_alpha_softmax_h():
    w, g, data = one_step(0.5)
    x = tensor(data.x_train)
    z = x @ w.T
    z[:, 1] *= 0.5
    wanted = (0.5 * torch.softmax(z, 1)[:, 1:2] * x).mean(0)
    torch.testing.assert_close(g[1], wanted)


def test_inference_is_unchanged(cpu):
    data, model = cloud(), nn.Linear(4, 3, bias=False, dtype=torch.float64)
    spec = RunSpec(**ONE_STEP, lr=1e-12)
    share = {"data": data, "model": model, "partition": [np.arange(8)]}
    row = run(spec, machine=cpu, parts=(FedRS(0.0),), **share).history.iloc[0]
    z = tensor(data.x_train) @ model.weight.detach().T
    y = torch.as_tensor(data.y_train)
    assert row["loss"] == pytest.approx(float(F.cross_entropy(z, y)), rel=1e-9)
    z[:, 1] = 0  # … while training sees the restricted logits
    assert row["train_loss"] == pytest.approx(float(F.cross_entropy(z, y)), rel=1e-9)


def twin(s, alpha, soft=False):
    def dz(i, t, x, z, y, rows):
        share = shares(s, i)
        known = share / share.max() if soft else share > 0
        factor = np.where(known, known * (1 - alpha) + alpha, alpha)
        return factor * (softmax(factor * z) - one_hot(y)) / len(y)

    return train_with(s, dz)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_numpy_reference(alpha, soft):
    s = reference.problem()
    agree(s, (FedRS(alpha, soft),), twin(s, alpha, soft))


def test_numpy_reference_of_alpha_one():
    s = reference.problem()
    got = trajectory(s, (FedRS(1.0),))
    np.testing.assert_allclose(got, reference.fedavg(s), rtol=1e-8, atol=1e-10)

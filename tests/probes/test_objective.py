"""The objective and the variance of clients' gradients: against formulas in NumPy."""

import numpy as np
import pytest

from fedbench import Dataset, Machine, RunSpec, run

CPU = Machine(device="cpu", workers=1)


def rows(n, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), rng.integers(0, 2, n)


def grouped(*sizes):
    """A data set whose clients have these many training samples."""
    x, y = rows(sum(sizes), 0)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    return Dataset(
        "two", x, y, *rows(8, 1), classes=2, groups=owner, groups_test=np.arange(8) % len(sizes)
    )


def trained(data, **settings):
    usual = {
        **{"model": "logistic", "partition": "natural", "clients": 3, "precision": "float64"},
        **{"rounds": 2, "lr": 0.5, "batch": None, "watch": ["objective"]},
    }
    return run(RunSpec(**usual | settings), data=data, machine=CPU)


def by_hand(data, w):
    """Each client's loss and gradient of the logistic regression `w`."""
    W, b = w[:6].reshape(2, 3), w[6:]
    for k in range(3):
        x, y = data.x_train[data.groups == k], data.y_train[data.groups == k]
        z = x @ W.T + b
        p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
        loss = -np.log(p[np.arange(len(y)), y]).mean()
        p[np.arange(len(y)), y] -= 1
        yield loss, np.concatenate([(p.T @ x / len(y)).ravel(), p.mean(0)])


@pytest.mark.parametrize("sizes", [(40, 40, 40), (7, 20, 700)])  # more than one pass
def test_both_against_numpy(sizes):
    data = grouped(*sizes)
    result = trained(data)
    losses, gradients = zip(*by_hand(data, result.weights.numpy()), strict=True)
    share = np.array(sizes) / sum(sizes)
    overall = share @ np.array(gradients)
    last = result.history.iloc[-1]
    assert last["objective"] == pytest.approx(share @ losses, abs=1e-12)
    spread = [np.sum((g - overall) ** 2) for g in gradients]
    assert last["gradient_variance"] == pytest.approx(np.mean(spread), abs=1e-12)


def test_clients_that_hold_the_same_do_not_vary():
    x, y = rows(20, 2)
    same = Dataset(
        "same", np.tile(x, (3, 1)), np.tile(y, 3), x, y, classes=2,
        groups=np.repeat(np.arange(3), 20), groups_test=np.arange(20) % 3,
    )  # fmt: skip
    assert trained(same).history["gradient_variance"].abs().max() < 1e-15

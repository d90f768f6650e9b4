"""The mean of the last two global models is scored, training stays as it is."""

import numpy as np
import pytest
import torch

from fedbench.methods.meanoftwo import MeanOfTwo
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import train
from tests.methods.server_side import named

EXTRA = []
NEUTRAL = [{}, {"leads": False}]


def test_two_rounds_by_hand():
    # w=1, target 0, lr ½: x_1 = ½, x_2 = ¼. Scored: ½ (x_0 does not count), then ⅜. Loss ½ w²
    history = train([[0.0]], 1.0, [MeanOfTwo()], lr=0.5, rounds=2).history
    assert list(history["loss"]) == pytest.approx([1 / 8, 9 / 128])
    assert list(history["loss[next]"]) == pytest.approx([1 / 8, 1 / 32])


def test_it_may_stand_behind_the_global_model():
    history = train([[0.0]], 1.0, [MeanOfTwo(leads=False)], lr=0.5, rounds=2).history
    assert list(history["loss"]) == pytest.approx([1 / 8, 1 / 32])
    assert list(history["loss[two]"]) == pytest.approx([1 / 8, 9 / 128])


def test_the_iterate_before_counts_though_it_was_not_scored():
    # scored every second round: x_1 = ½, x_2 = ¼, x_3 = ⅛, x_4 = 1/16
    rules = {"lr": 0.5, "rounds": 4, "eval_every": 2}
    history = train([[0.0]], 1.0, [MeanOfTwo()], **rules).history
    assert list(history["loss"]) == pytest.approx([0.5 * (3 / 8) ** 2, 0.5 * (3 / 32) ** 2])


@pytest.mark.parametrize("by_samples", [False, True])
def test_numpy_reference(by_samples):
    s = reference.problem(by_samples=by_samples)
    frames, found = named(s, MeanOfTwo())
    want = reference.fedavg(s)
    np.testing.assert_allclose(frames, want, rtol=1e-8, atol=1e-10)
    means = [want[0], *(want[1:] + want[:-1]) / 2]
    got = [models["two"] for models in found]
    np.testing.assert_allclose(got, means, rtol=1e-8, atol=1e-10)


def test_training_is_left_alone():
    s = reference.problem()
    assert np.array_equal(trajectory(s, ()), trajectory(s, (MeanOfTwo(),)))
    assert torch.equal(
        train([[2.0], [1.0]], 4.0, rounds=3).weights,
        train([[2.0], [1.0]], 4.0, [MeanOfTwo()], rounds=3).weights,
    )

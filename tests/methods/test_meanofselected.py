"""The mean of the selected clients' models is scored, training stays as it is."""

import numpy as np
import pytest
import torch

from fedbench.methods.meanofselected import MeanOfSelected
from fedbench.methods.twosided import TwoSided
from tests.methods import reference
from tests.methods.one_weight import final, train
from tests.methods.server_side import locals_of, named

EXTRA = []
NEUTRAL = [{}, {"leads": False}]


def test_the_mean_leads_and_the_global_model_is_next():
    # w=4, targets 2 and −2, lr 0.1: y = 3.8, 3.4. With κ = 2: x = 3.2, the mean is 3.6.
    # test loss ½ mean (w − 2)², (w + 2)²: 3.6 → ¼ (2.56 + 31.36) = 8.48; 3.2 → ¼ (1.44 + 27.04)
    clients, parts = [[2.0], [-2.0]], [TwoSided(2.0), MeanOfSelected()]
    result = train(clients, 4.0, parts)
    row = result.history.iloc[0]
    assert row["loss"] == pytest.approx(8.48)
    assert row["loss[next]"] == pytest.approx(7.12)
    assert final(result) == pytest.approx(3.2)


def test_it_may_stand_behind_the_global_model():
    row = train([[2.0], [-2.0]], 4.0, [TwoSided(2.0), MeanOfSelected(leads=False)]).history.iloc[0]
    assert row["loss"] == pytest.approx(7.12)
    assert row["loss[selected]"] == pytest.approx(8.48)


def test_under_fedavg_it_has_the_bits_of_the_global_model():
    result = train([[2.0], [1.0, 7.0], [-2.0]], 4.0, [MeanOfSelected()], rounds=3)
    assert list(result.history["loss"]) == list(result.history["loss[next]"])


def test_weights_are_uniform_whatever_the_run_mixes_by():
    # three samples with target 0, one with 4; w=1, lr 0.1: y = 0.9, 1.3; mean 1.1, x = 1
    result = train([[0.0] * 3, [4.0]], 1.0, [MeanOfSelected()], weights="samples")
    row = result.history.iloc[0]
    assert row["loss"] == pytest.approx((3 * 1.1**2 + 2.9**2) / 8)
    assert row["loss[next]"] == pytest.approx((3 * 1.0 + 9.0) / 8)


@pytest.mark.parametrize("by_samples", [False, True])
def test_numpy_reference(by_samples):
    s = reference.problem(by_samples=by_samples)
    frames, found = named(s, MeanOfSelected())
    want, rounds = locals_of(s)
    np.testing.assert_allclose(frames, want, rtol=1e-8, atol=1e-10)
    for models, (_, ys, _) in zip(found, rounds, strict=True):
        mean = np.mean(list(ys.values()), axis=0)
        np.testing.assert_allclose(models["selected"], mean, rtol=1e-8, atol=1e-10)


def test_training_is_left_alone():
    rules = {"epochs": 2, "rounds": 4, "participation": 0.7}
    plain = train([[2.0], [1.0], [-2.0]], 4.0, **rules).weights
    scored = train([[2.0], [1.0], [-2.0]], 4.0, [MeanOfSelected()], **rules).weights
    assert torch.equal(scored, plain)

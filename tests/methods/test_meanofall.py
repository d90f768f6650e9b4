"""The mean of all clients' last models is scored, training stays as it is."""

import numpy as np
import pytest

from fedbench import Machine, RunSpec, run
from fedbench.core.part import Sizes
from fedbench.methods.meanofall import MeanOfAll
from fedbench.methods.meanofselected import MeanOfSelected
from tests.methods import reference
from tests.methods.on_reference import trajectory
from tests.methods.one_weight import final, train
from tests.methods.server_side import locals_of, named

EXTRA = []
NEUTRAL = [{}, {"leads": False}]


def test_a_client_never_sampled_counts_as_the_first_model():
    # one of four a round, all targets 0, w=1, lr ½: y = ½; the mean is (½ + 1 + 1 + 1)/4 = ⅞
    parts = [MeanOfAll()]
    result = train([[0.0]] * 4, 1.0, parts, lr=0.5, participation=0.25)
    assert result.history["loss"][0] == pytest.approx(0.5 * (7 / 8) ** 2)
    assert result.history["loss[next]"][0] == pytest.approx(1 / 8)
    assert final(result) == pytest.approx(0.5)


def test_a_client_counts_once_with_its_last_model():
    # one client of one: its last model is the global one, round after round
    result = train([[0.0]], 1.0, [MeanOfAll()], lr=0.5, rounds=4)
    assert list(result.history["loss"]) == pytest.approx(list(result.history["loss[next]"]))


def test_it_may_stand_behind_the_global_model_and_before_the_selected():
    parts = [MeanOfAll(leads=False), MeanOfSelected()]
    row = train([[0.0]] * 4, 1.0, parts, lr=0.5, participation=0.25).history.iloc[0]
    assert row["loss"] == pytest.approx(1 / 8)
    assert row["loss[all]"] == pytest.approx(0.5 * (7 / 8) ** 2)
    assert row["loss[selected]"] == pytest.approx(1 / 8)


def test_full_participation_scores_the_mean_of_the_selected():
    parts = [MeanOfAll(), MeanOfSelected()]
    history = train([[2.0], [1.0, 7.0], [-2.0]], 4.0, parts, rounds=5, weights="samples").history
    assert list(history["loss"]) == pytest.approx(list(history["loss[selected]"]))
    assert list(history["loss"]) != pytest.approx(list(history["loss[next]"]))


@pytest.mark.parametrize("by_samples", [False, True])
def test_numpy_reference(by_samples):
    s = reference.problem(by_samples=by_samples)
    frames, found = named(s, MeanOfAll())
    want, rounds = locals_of(s)
    np.testing.assert_allclose(frames, want, rtol=1e-8, atol=1e-10)
    last = dict.fromkeys(range(len(s.rows)), s.w0)
    for models, (_, ys, _) in zip(found, rounds, strict=True):
        last |= ys
        mean = np.mean(list(last.values()), axis=0)
        np.testing.assert_allclose(models["all"], mean, rtol=1e-8, atol=1e-10)


def test_training_is_left_alone_and_the_table_may_lie_on_disk(cpu):
    s = reference.problem()
    assert np.array_equal(trajectory(s, ()), trajectory(s, (MeanOfAll(),)))
    spec = RunSpec(parts=["meanofall"], rounds=4, participation=0.3)
    memory = run(spec, machine=cpu)
    disk = run(spec, machine=Machine(device="cpu", state_gb=1e-9))
    assert list(memory.history["loss"]) == list(disk.history["loss"])


def test_cost_is_one_vector_a_client_and_their_mean():
    cost = MeanOfAll().cost(Sizes(d=7, classes=3, K=9, m=4, epochs=1, features=8))
    assert (cost.server_memory, cost.down, cost.up) == (70, 0, 0)

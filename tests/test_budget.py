"""What a plan costs."""

import pytest

from fedbench.budget import budget, passes
from fedbench.spec import RunSpec


def test_passes_of_rmfl_on_cifar10():
    # 50,000 / 100 = 500 samples × 10 clients × 2 epochs × 500 rounds = 5 million
    run = RunSpec(
        dataset="cifar10", model="lenet5", clients=100, participation=0.1, epochs=2, rounds=500
    )
    assert passes(run) == (5e6, 10_000 * 500)


def test_fixed_steps_and_held_out_data():
    run = RunSpec(dataset="mnist", clients=100, participation=0.1, steps=3, batch=50, rounds=10)
    assert passes(run)[0] == 10 * 10 * 3 * 50
    held_out = run.changed(validation=0.5, steps=None, eval_every=5)
    # half of 60,000 is trained on, the other half scored beside the 10,000 twice
    assert passes(held_out) == (10 * 10 * 300, 2 * 40_000)


def test_measured_speed_replaces_the_reference():
    run = RunSpec(clients=10, rounds=10, eval_every=10)
    # 10 rounds × 1,442 samples trained + 355 / 3 scored, at 100 samples a second
    found = budget([run], {"mlp": 100.0})
    assert found.sample_passes == pytest.approx(14_420)
    assert found.core_hours == pytest.approx((14_420 + 355 / 3) / 100 / 3600)
    assert budget([run, run], {"mlp": 100.0}).core_hours == pytest.approx(2 * found.core_hours)

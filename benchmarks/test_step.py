"""The history of the engine's speed, kept by pytest-benchmark.

    pytest benchmarks -n 0 --benchmark-autosave --benchmark-compare

Without `-n 0` the tests would run side by side and pytest-benchmark would time nothing.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest
from speed import ours
from speed.workload import WORKLOADS

from fedbench.engine.machine import one_thread_a_process


@pytest.mark.parametrize("clients", [1, 10], ids=["one client", "a cohort of ten"])
@pytest.mark.parametrize("name", ["W1", "W2"])
def test_a_round_of_one_local_step(
    name: str, clients: int, benchmark: Callable[[Callable[[], None]], None]
) -> None:
    """One mini-batch of 50 images per client, on one thread."""
    one_thread_a_process()
    one_step = replace(WORKLOADS[name], clients=clients, cohort=clients, samples=50)
    training = ours.training(one_step, workers=1)
    benchmark(training.round)
    assert training.progress.global_model.w.isfinite().all()

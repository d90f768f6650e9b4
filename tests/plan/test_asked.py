"""The memory that a job asks for, with numbers that one can check by hand."""

import pytest

from fedbench.plan.asked import memory_mb
from fedbench.spec import RunSpec

CIFAR = 2 * 60_000 * 3 * 32 * 32 / 2**20  # 351.6 MB


@pytest.mark.parametrize(
    ("settings", "megabytes"),
    [
        # a process, the data set twice, the model at a batch of 64
        ({"model": "lenet5", "batch": 64}, 1000 + CIFAR + 200),
        ({"model": "lenet5", "batch": 10}, 1000 + CIFAR + 200),
        ({"model": "lenet5", "batch": 256}, 1000 + CIFAR + 4 * 200),
        # all 500 samples of a client at once
        ({"model": "lenet5", "batch": None}, 1000 + CIFAR + 500 / 64 * 200),
        # two vectors of 0.3 MB for each of 100 clients
        ({"model": "lenet5", "batch": 64, "parts": ["scaffold"]}, 1000 + CIFAR + 200 + 60),
        # 9,000 MB of states, of which all but 4,000 lie on disk
        ({"model": "rn18", "batch": 64, "parts": ["scaffold"]}, 1000 + CIFAR + 1650 + 4000),
    ],
)
def test_memory_is_that_of_the_process_the_data_the_model_and_the_states(settings, megabytes):
    run = RunSpec(dataset="cifar10", clients=100, **settings)
    assert memory_mb(run) == pytest.approx(megabytes, abs=1)


def test_images_that_are_mapped_from_a_file_count_little():
    mapped, model = RunSpec(dataset="imagenet100", model="lenet5"), 200
    assert memory_mb(mapped) == 1000 + 4000 + model

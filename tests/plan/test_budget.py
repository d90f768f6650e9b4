"""What a plan costs."""

import json

import pytest

from fedbench.data.sources.agnews import AGNews
from fedbench.data.sources.digitpairs import DigitPairs
from fedbench.data.sources.toy import Toy
from fedbench.plan.budget import GPU_CORES, Speeds, budget, measured_speeds, passes
from fedbench.spec import RunSpec
from tests.engine.records import record


def test_passes_of_rmfl_on_cifar10():
    # 50,000 / 100 = 500 samples × 10 clients × 2 epochs × 500 rounds = 5 million
    run = RunSpec(
        dataset="cifar10", model="lenet5", clients=100, participation=0.1, epochs=2, rounds=500
    )
    assert passes(run) == (5e6, 10_000 * 500)


def test_the_size_of_a_data_set_follows_its_parameters():
    pairs = {"digitpairs": {"train": 20, "test": 5}}
    run = RunSpec(dataset=pairs, model="scnn", clients=10, participation=0.1, epochs=1, rounds=2)
    # 100 classes: 2,000 samples, 200 a client; 500 are scored each round
    assert passes(run) == (400, 1000)


@pytest.mark.parametrize("source", [DigitPairs(train=3, test=2), Toy(train=7, test=9)])
def test_a_source_has_the_samples_that_it_says(source, tmp_path):
    data = source.load(tmp_path)
    assert source.samples() == (len(data.y_train), len(data.y_test))


def test_a_share_of_a_source_is_counted_without_reading_it():
    assert AGNews(share=0.1).samples() == (12_000, 7_600)


def test_a_file_is_read_for_its_size(refuses, tmp_path):
    # 10 rows, a fifth of each class for the test: 8 for training, 2 clients, 3 rounds of 1 epoch
    (tmp_path / "a.csv").write_text("x,kind\n" + "1,cat\n2,dog\n" * 5)
    run = RunSpec(dataset={"file": {"path": "a.csv"}}, clients=2, rounds=3)
    assert passes(run, tmp_path) == (3 * 8, 3 * 2)
    with refuses(r"b\.csv\): there is no such file"):
        passes(run.changed(dataset={"file": {"path": "b.csv"}}), tmp_path)


def test_fixed_steps_and_held_out_data():
    run = RunSpec(dataset="mnist", clients=100, participation=0.1, steps=3, batch=50, rounds=10)
    assert passes(run)[0] == 10 * 10 * 3 * 50
    held_out = run.changed(validation=0.5, steps=None, eval_every=5)
    # half of 60,000 is trained on, the other half scored beside the 10,000 twice
    assert passes(held_out) == (10 * 10 * 300, 2 * 40_000)


def test_measured_speed_replaces_the_reference():
    run = RunSpec(clients=10, rounds=10, eval_every=10)
    # 10 rounds × 1,442 samples trained + 355 / 3 scored, at 100 samples a second
    found = budget([run], Speeds({"mlp": 100.0}, {"mlp": 5000.0}))
    assert found.sample_passes == pytest.approx(14_420)
    assert found.core_hours == pytest.approx((14_420 + 355 / 3) / 100 / 3600)
    assert found.gpu_hours == pytest.approx(found.core_hours / 50)
    twice = budget([run, run], Speeds({"mlp": 100.0}))
    assert twice.core_hours == pytest.approx(2 * found.core_hours)
    assert twice.gpu_hours == pytest.approx(twice.core_hours / GPU_CORES)  # assumed, not measured


def test_speeds_of_finished_runs_are_kept_apart_by_device(tmp_path):
    for name, device, passes_, seconds in (
        ("a", "cpu", 300, 2),
        ("b", "cpu", 100, 2),
        ("c", "H", 9, 3),
    ):
        spent = {"device": device, "sample_passes": passes_, "seconds": {"train": seconds}}
        found = record(RunSpec(), **spent)
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "run.json").write_text(json.dumps(found))
    assert measured_speeds(tmp_path) == Speeds({"mlp": 100.0}, {"mlp": 3.0})
    known = {"mlp": 7.0, "lenet5": 8.0}  # what was measured here wins
    assert measured_speeds(tmp_path, known).core == {"mlp": 100.0, "lenet5": 8.0}

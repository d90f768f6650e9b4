"""What a plan costs."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from fedbench.base import registry
from fedbench.data.sources.agnews_and_sst5 import AGNews
from fedbench.data.sources.digits_and_points import DigitPairs, Toy
from fedbench.plan.cost import (
    GPU_CORES,
    USUAL,
    Budget,
    Speeds,
    by_table,
    costs,
    measured_speeds,
    passes,
)
from fedbench.plan.data_checks import samples
from fedbench.plan.plan import make_plan
from fedbench.spec import RunSpec
from tests.engine.records import record
from tests.project import make_project


def test_passes_of_rmfl_on_cifar10():
    # 50,000 / 100 = 500 samples × 10 clients × 2 epochs × 500 rounds = 5 million
    run = RunSpec(
        dataset="cifar10", model="lenet5", clients=100, participation=0.1, epochs=2, rounds=500
    )
    assert passes(run, 50_000, 10_000) == (5e6, 10_000 * 500)


def test_the_size_of_a_data_set_follows_its_parameters():
    pairs = {"digitpairs": {"train": 20, "test": 5}}
    run = RunSpec(dataset=pairs, model="scnn", clients=10, participation=0.1, epochs=1, rounds=2)
    # 100 classes: 2,000 samples, 200 a client; 500 are scored each round
    assert passes(run, *samples(run.dataset, Path())) == (400, 1000)


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
    assert passes(run, *samples(run.dataset, tmp_path)) == (3 * 8, 3 * 2)
    with refuses(r"b\.csv\): there is no such file"):
        samples(run.changed(dataset={"file": {"path": "b.csv"}}).dataset, tmp_path)


def test_fixed_steps_and_held_out_data():
    run = RunSpec(dataset="mnist", clients=100, participation=0.1, steps=3, batch=50, rounds=10)
    assert passes(run, 60_000, 10_000)[0] == 10 * 10 * 3 * 50
    held_out = run.changed(validation=0.5, steps=None, eval_every=5)
    # half of 60,000 is trained on, the other half scored beside the 10,000 twice
    assert passes(held_out, 60_000, 10_000) == (10 * 10 * 300, 2 * 40_000)
    third = held_out.changed(eval_every=3)  # after rounds 3, 6, 9 and the last, 10
    assert passes(third, 60_000, 10_000)[1] == 4 * 40_000


def test_measured_speed_replaces_the_reference():
    run = RunSpec(clients=10, rounds=10, eval_every=10)
    # 10 rounds × 1,442 samples trained + 355 / 3 scored, at 100 samples per second
    runs = {"run": run, "other seed": run.changed(seed=5), "half": run.changed(participation=0.5)}
    found = costs(runs, Speeds({"mlp": 100.0}, {"mlp": 5000.0}))
    assert found["run"].passes == pytest.approx(14_420)
    assert found["run"].core_seconds == pytest.approx((14_420 + 355 / 3) / 100)
    assert found["run"].gpu_seconds == pytest.approx(found["run"].core_seconds / 50)
    assert found["other seed"] == found["run"]
    assert found["half"].passes == pytest.approx(7_210)
    assumed = costs(runs, Speeds({"mlp": 100.0}))["run"]
    assert assumed.gpu_seconds == pytest.approx(found["run"].core_seconds / GPU_CORES)


def test_a_model_that_declares_no_speed_is_taken_to_have_a_usual_one(monkeypatch):
    monkeypatch.setattr(registry, "find", lambda *_: SimpleNamespace(constants={}))
    assert Speeds().on_core(RunSpec()) == USUAL


def test_a_file_that_is_not_read_is_taken_to_have_10000_samples():
    run = RunSpec(dataset={"file": {"path": "nowhere.csv"}}, model="mlp", clients=10, rounds=3)
    # 30,000 trained on and 3 × 2,000 / 3 scored, at 100 a second
    found = costs({"run": run}, Speeds({"mlp": 100.0}))["run"]
    assert found.core_seconds == pytest.approx(320)


def test_hours_here_are_those_of_the_cores_that_have_something_to_do(tmp_path, monkeypatch):
    # 4 runs of 2 rounds × 2 clients × 144.2 samples + 2 × 355 / 3 scored, at 1 a second: 813.5 s.
    # table2 is one of these runs, which keeps one core of two busy
    plan = make_plan(make_project(tmp_path) / "workflow", "paper")
    speeds = Speeds({"mlp(hidden=4)": 1.0})
    found = []
    for cores in (1, 2, 8):
        monkeypatch.setattr("fedbench.plan.cost.here", lambda cores=cores: cores)
        found.append(by_table(plan, speeds))
    alone, two, eight = found
    one = (4 * 144.2 + 2 * 355 / 3) / 3600
    assert alone["tiny/table1"].hours_here == pytest.approx(4 * one)
    assert two["tiny/table1"].hours_here == pytest.approx(2 * one)
    assert two["tiny/table2"].hours_here == pytest.approx(one)
    assert eight["tiny/table1"].hours_here == pytest.approx(one)  # four runs, four cores
    everything = two["all, shared runs once"]
    assert (everything.runs, everything.hours_here) == (4, pytest.approx(2 * one))


def test_speeds_of_finished_runs_are_kept_apart_by_device(tmp_path):
    for name, device, passes_, seconds in (
        ("a", "cpu", 300, 2),
        ("b", "cpu", 100, 2),
        ("c", "H", 9, 3),
        ("d", "cpu", "0123", 1),  # damaged: numbers that are text say nothing
        ("e", "cpu", 500, "1"),
    ):
        spent = {"device": device, "sample_passes": passes_, "seconds": {"train": seconds}}
        found = record(RunSpec(), **spent)
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "run.json").write_text(json.dumps(found))
    assert measured_speeds(tmp_path) == Speeds({"mlp": 100.0}, {"mlp": 3.0})
    known = {"mlp": 7.0, "lenet5": 8.0}  # what was measured here wins
    assert measured_speeds(tmp_path, known).core == {"mlp": 100.0, "lenet5": 8.0}


def test_a_few_seconds_are_not_called_no_time_at_all():
    budget = Budget(1, 1e4, 0.0, 0.002, 0.4)
    assert budget.words()["hours here"] == "< 0.01"  # 7.2 s
    assert budget.words()["GPU hours"] == "0.00"
    assert replace(budget, hours_here=0.01).words()["hours here"] == "0.01"

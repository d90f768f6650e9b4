"""When a run began and ended, as MLflow is told."""

import os

import pandas as pd

from fedbench.jobs.told import told_of
from fedbench.spec import RunSpec
from fedbench.store import Results
from tests.engine.records import record


def test_a_restored_run_ended_when_it_was_trained(tmp_path):
    run = RunSpec(rounds=1)
    folder = Results(tmp_path).run(run.id)
    history = pd.DataFrame({"round": [1], "accuracy": [0.5]})
    made = record(run, rounds=1, seconds={"train": 2.0}, ended="1970-01-01T01:00:00+00:00")
    folder.finish(made, history, {}, {})
    told = told_of(folder, folder.record(), {})
    assert (told.began, told.ended) == (3_598_000, 3_600_000)


def test_a_runs_times_are_those_of_its_training(tmp_path):
    # recorded as 2 s of training that ended at 1,000 s: round 1 after 0.5 s, round 2 after 2 s
    run = RunSpec(rounds=2)
    folder = Results(tmp_path).run(run.id)
    clocks = {"train_seconds": [0.4, 1.5], "server_seconds": [0.1, 0.5]}
    history = pd.DataFrame({"round": [1, 2], "accuracy": [0.5, 0.6], **clocks})
    seconds = {"train": 1.5, "server": 0.5}
    folder.finish(record(run, rounds=2, seconds=seconds), history, {}, {})
    os.utime(folder.path / "run.json", (1000, 1000))
    told = told_of(folder, folder.record(), {})
    assert (told.began, told.ended) == (998_000, 1_000_000)
    points = [point for point in told.points if point.name == "accuracy"]
    assert [(point.step, point.time) for point in points] == [(1, 998_500), (2, 1_000_000)]

"""When a run began and ended, as MLflow is told."""

import os
from types import SimpleNamespace

import pandas as pd

from fedbench.jobs.copying import copy_run
from fedbench.spec import RunSpec
from fedbench.store import Results
from tests.engine.records import record


class Told:
    """Stands for MLflow's client, whose database takes seconds to make."""

    def create_run(self, experiment, start_time, tags, run_name):
        self.began, self.metrics = start_time, []
        return SimpleNamespace(info=SimpleNamespace(run_id=run_name))

    def log_batch(self, run_id, metrics, params=(), tags=()):
        self.metrics += metrics

    def set_terminated(self, run_id, end_time):
        self.ended = end_time


def test_a_runs_times_are_those_of_its_training(tmp_path):
    # recorded as 2 s of training that ended at 1,000 s: round 1 after 0.5 s, round 2 after 2 s
    run = RunSpec(rounds=2)
    folder = Results(tmp_path).run(run.id)
    clocks = {"train_seconds": [0.4, 1.5], "server_seconds": [0.1, 0.5]}
    history = pd.DataFrame({"round": [1, 2], "accuracy": [0.5, 0.6], **clocks})
    seconds = {"train": 1.5, "server": 0.5}
    folder.finish(record(run, rounds=2, seconds=seconds), history, {}, {})
    os.utime(folder.path / "run.json", (1000, 1000))
    told = Told()
    copy_run(told, "0", folder, folder.record(), {})
    assert (told.began, told.ended) == (998_000, 1_000_000)
    points = [metric for metric in told.metrics if metric.key == "accuracy"]
    assert [(point.step, point.timestamp) for point in points] == [(1, 998_500), (2, 1_000_000)]

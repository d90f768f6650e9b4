"""When a run began and ended, as MLflow shows it."""

import os

import pandas as pd
from mlflow.tracking import MlflowClient

from fedbench.jobs.track import mirror
from fedbench.plan.plan import make_plan
from fedbench.store import Results
from tests.engine.records import record
from tests.report.test_hostile_names import project


def test_a_runs_times_are_those_of_its_training(tmp_path):
    # recorded as 2 s of training that ended at 1,000 s: round 1 after 0.5 s, round 2 after 2 s
    plan = make_plan(project(tmp_path), "paper")
    run = next(iter(plan.runs.values()))
    folder = Results(tmp_path / "results").run(run.id)
    clocks = {"train_seconds": [0.4, 1.5], "server_seconds": [0.1, 0.5]}
    history = pd.DataFrame({"round": [1, 2], "accuracy": [0.5, 0.6], **clocks})
    seconds = {"train": 1.5, "server": 0.5}
    folder.finish(record(run, rounds=2, seconds=seconds), history, {}, {})
    os.utime(folder.path / "run.json", (1000, 1000))
    assert mirror(plan, tmp_path / "results") == 1
    client = MlflowClient(f"sqlite:///{tmp_path / 'results/mlflow.db'}")
    experiment = client.get_experiment_by_name("fedbench-paper").experiment_id
    (found,) = client.search_runs([experiment])
    assert (found.info.start_time, found.info.end_time) == (998_000, 1_000_000)
    points = client.get_metric_history(found.info.run_id, "accuracy")
    assert [(point.step, point.timestamp) for point in points] == [(1, 998_500), (2, 1_000_000)]
    assert mirror(plan, tmp_path / "results") == 0

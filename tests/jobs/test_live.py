"""Rounds that are sent to MLflow while a run trains; a server that is away costs one line."""

import shutil
import subprocess
import sys
from contextlib import suppress

import pytest
from mlflow.exceptions import MlflowException

from fedbench import Machine, RunSpec, run
from fedbench.jobs import mlflow
from fedbench.jobs.mlflow import LIVE, client_of, default_uri
from fedbench.jobs.train import follower, nobody

SPEC = RunSpec(model={"mlp": {"hidden": 4}}, clients=4, rounds=3)


@pytest.fixture
def folder(database, tmp_path):
    shutil.copy(database, tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(mlflow, "_PAUSE", 0.0)
    monkeypatch.setattr(mlflow, "_SHARE", 0.0)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "4")


def followed(follow, spec=SPEC):
    with follow(spec) as seen:
        return run(spec, watch=seen, machine=Machine(device="cpu")).history


def shown(folder):
    """MLflow's only run of the experiment, and the steps and values of its accuracy."""
    client = client_of(default_uri(folder))
    experiment = client.get_experiment_by_name(LIVE)
    (found,) = client.search_runs([experiment.experiment_id])
    points = client.get_metric_history(found.info.run_id, "accuracy")
    return found, [(each.step, each.value) for each in points]


@pytest.mark.parametrize("pause", [0.0, 60.0])
def test_every_evaluated_round_is_sent_and_the_run_is_the_same(folder, monkeypatch, pause):
    monkeypatch.setattr(mlflow, "_PAUSE", pause)
    said = []
    history = followed(follower("mlflow", folder, said.append))
    found, points = shown(folder)
    assert points == [*zip(history["round"], history["accuracy"], strict=True)]
    assert (found.info.status, found.data.params["model.hidden"]) == ("FINISHED", "4")
    assert said == []
    assert history["loss"].equals(followed(nobody)["loss"])


def test_a_round_is_there_before_the_run_has_ended(folder):
    with follower("mlflow", folder, print)(SPEC) as seen:
        seen({"round": 1.0, "accuracy": 0.5})
        found, points = shown(folder)
        assert (found.info.status, points) == ("RUNNING", [(1, 0.5)])


def test_a_run_that_is_stopped_still_stops_and_goes_on_in_the_same(folder):
    follow = follower("mlflow", folder, print)

    def stopped():
        with follow(SPEC) as seen:
            seen({"round": 1.0, "accuracy": 0.25})
            seen({"round": 2.0, "accuracy": 0.5})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert shown(folder)[0].info.status == "KILLED"
    with follow(SPEC) as seen:
        seen({"round": 2.0, "accuracy": 0.5})  # once more, since its checkpoint
        seen({"round": 3.0, "accuracy": 0.75})
    found, points = shown(folder)
    assert (found.info.status, points) == ("FINISHED", [(1, 0.25), (2, 0.5), (3, 0.75)])


@pytest.mark.parametrize("killed", [False, True])
def test_a_run_that_is_trained_from_its_start_again_is_another_in_mlflow(folder, killed):
    for score in (0.25, 0.5):
        with suppress(KeyboardInterrupt), follower("mlflow", folder, print)(SPEC) as seen:
            seen({"round": 1.0, "accuracy": score})
            if killed and score == 0.25:
                raise KeyboardInterrupt
    client = client_of(default_uri(folder))
    found = client.search_runs([client.get_experiment_by_name(LIVE).experiment_id])
    ended = {run.data.metrics["accuracy"]: run.info.status for run in found}
    assert ended == {0.25: "KILLED" if killed else "FINISHED", 0.5: "FINISHED"}


def test_a_server_that_is_away_is_said_once_and_not_tried_again(tmp_path):
    said = []
    follow = follower("mlflow=http://127.0.0.1:1", tmp_path, said.append)
    assert [len(followed(follow, SPEC.changed(seed=seed))) for seed in (0, 1)] == [3, 3]
    (line,) = said
    assert line.startswith("live: tracking_uri = 'http://127.0.0.1:1' cannot be used: ")
    assert line.endswith("; the runs go on without it")


def test_a_server_that_goes_away_meanwhile_is_said_once(folder, monkeypatch):
    said, sent = [], []

    def away(client, key, metrics=(), params=()):
        sent.append(len(metrics))
        raise MlflowException("the line is dead")

    follow = follower("mlflow", folder, said.append)
    with follow(SPEC) as seen:
        monkeypatch.setattr("mlflow.tracking.MlflowClient.log_batch", away)
        for round_ in (1.0, 2.0):
            seen({"round": round_, "loss": 1.0})
    assert sent == [1]
    assert said == ["live: MlflowException: the line is dead; the runs go on without it"]


def test_a_server_that_is_slow_gets_rounds_seldom(folder, monkeypatch):
    monkeypatch.setattr(mlflow, "_SHARE", 1e9)
    with follower("mlflow", folder, print)(SPEC) as seen:
        for round_ in (1.0, 2.0, 3.0):
            seen({"round": round_, "accuracy": 0.5})
        assert len(shown(folder)[1]) == 1
    assert len(shown(folder)[1]) == 3


def test_an_unknown_tracker_is_refused(refuses, tmp_path):
    with refuses("live: no tracker 'mlfow'; did you mean 'mlflow'?"):
        follower("mlfow", tmp_path, print)


def test_a_new_database_is_made_by_one_of_two_processes(tmp_path):
    code = f"from fedbench.jobs.mlflow import client_of; client_of('sqlite:///{tmp_path}/new.db')"
    made = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    assert [process.wait() for process in made] == [0, 0]

"""What MLflow shows of finished runs, how often it is told, and what is refused at once."""

import os
import re
import shutil
import sqlite3
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pandas as pd
import pytest

from fedbench.jobs import mlflow
from fedbench.jobs.mlflow import client_of, default_uri, metrics, mirror, params
from fedbench.plan.plan import make_plan
from fedbench.spec import RunSpec
from fedbench.store import Results
from tests.engine.records import record
from tests.jobs.made_runs import SEARCHING, finish, project
from tests.project import PAPER, PRINTED, make_project


@pytest.fixture
def results(database, tmp_path):
    """A folder of results with an empty database of MLflow."""
    folder = tmp_path / "results"
    folder.mkdir()
    shutil.copy(database, folder)
    return folder


@pytest.fixture
def plan(tmp_path):
    """Four runs of two methods and two seeds, none of them finished."""
    return make_plan(make_project(tmp_path) / "workflow", "paper")


def shown(results, paper="tiny"):
    """MLflow's runs of the paper, by the id of the training run."""
    client = client_of(default_uri(results))
    experiment = client.get_experiment_by_name(f"fedbench-paper-{paper}")
    found = client.search_runs([experiment.experiment_id])
    runs = {run.data.tags["fedbench.run_id"]: run for run in found}
    assert len(found) == len(runs)  # none is there twice
    return runs


def test_runs_that_are_there_are_not_copied_again(plan, results):
    *others, last = plan.runs.values()
    for run in others:
        finish(results, run)
    assert [mirror(plan, results) for _ in range(2)] == [3, 0]
    finish(results, last)
    assert [mirror(plan, results) for _ in range(2)] == [1, 0]
    assert shown(results).keys() == plan.runs.keys()


def test_a_paper_without_finished_runs_has_no_experiment(plan, results):
    assert mirror(plan, results) == 0
    client = client_of(default_uri(results))
    assert client.get_experiment_by_name("fedbench-paper-tiny") is None


def test_a_run_has_its_name_method_tables_flat_settings_and_history(plan, results):
    run = next(run for run in plan.runs.values() if run.parts)
    finish(results, run, accuracy=0.75)
    mirror(plan, results)
    copy = shown(results)[run.id]
    assert copy.info.run_name == "FedProx · Digits · alpha 1 · s0"
    assert copy.data.tags["method"] == "FedProx"
    assert copy.data.tags["fedbench.tables"] == "tiny/fig1, tiny/table1"
    assert copy.data.tags["fedbench.status"] == "finished"
    expected = {"fedprox.mu": "0.1", "model": "mlp", "model.hidden": "4", "parts": "fedprox"}
    assert expected.items() <= copy.data.params.items()
    client = client_of(default_uri(results))
    history = client.get_metric_history(copy.info.run_id, "accuracy")
    assert [(each.step, each.value) for each in history] == [(1, 0.25), (2, 0.75)]


def test_what_is_chosen_by_name_is_flat_and_what_is_null_is_left_out():
    spec = RunSpec(partition={"dr": {"alpha": 0.5}}, stop={"target": 0.9, "on": "test"})
    found = {each.key: each.value for each in params(spec)}
    assert found["partition"] == "dr"
    assert (found["partition.alpha"], found["stop.target"]) == ("0.5", "0.9")
    assert found["betas"] == "[0.9, 0.999]"
    assert not {"clip", "parts", "watch", "tune"} & found.keys()


def test_trials_are_listed_beside_the_runs_of_their_search(tmp_path, database):
    plan = project(tmp_path, SEARCHING)
    shutil.copy(database, tmp_path / "results")
    assert mirror(plan, tmp_path / "results") == len(plan.runs)
    runs = shown(tmp_path / "results")
    trials = {
        run.info.run_name for run in runs.values() if run.data.tags["fedbench.role"] == "trial"
    }
    words = [f"{method} · Digits · alpha 1" for method in ("FedAvg", "FedProx")]
    assert trials == {f"{each} · trial {n}" for each in words for n in (1, 2)}


def test_a_run_of_two_papers_is_in_the_experiments_of_both(plan, results, tmp_path):
    (tmp_path / "workflow/papers/other.yaml").write_text(PAPER)
    both = make_plan(tmp_path / "workflow", "paper")
    finish(results, next(iter(both.runs.values())))
    assert [mirror(both, results) for _ in range(2)] == [2, 0]
    assert shown(results).keys() == shown(results, "other").keys() != set()


def test_a_run_or_an_experiment_that_was_deleted_in_mlflow_comes_back(plan, results, capsys):
    *others, last = plan.runs.values()
    for run in others:
        finish(results, run)
    mirror(plan, results)
    client = client_of(default_uri(results))
    deleted = shown(results)[others[0].id].info
    client.delete_run(deleted.run_id)
    assert [mirror(plan, results) for _ in range(2)] == [1, 0]
    client.delete_experiment(deleted.experiment_id)
    finish(results, last)
    assert mirror(plan, results) == 1
    assert "'fedbench-paper-tiny' was deleted in MLflow; it is restored" in capsys.readouterr().out
    assert shown(results).keys() == plan.runs.keys()


def test_a_run_that_was_trained_again_replaces_its_old_copy(plan, results):
    first, again, *_ = plan.runs.values()
    for run in (first, again):
        finish(results, run)
    mirror(plan, results)
    before = shown(results)
    finish(results, again, accuracy=0.875)
    assert [mirror(plan, results) for _ in range(2)] == [1, 0]
    after = shown(results)
    assert after[first.id].info.run_id == before[first.id].info.run_id
    assert after[again.id].data.metrics["accuracy"] == 0.875


def test_a_copy_is_called_as_its_method_and_table_are_now(plan, results, tmp_path):
    for run in plan.runs.values():
        finish(results, run)
    mirror(plan, results)
    before = shown(results)
    paper = PAPER.replace("FedProx", "Weak").replace("table1", "first")
    printed = PRINTED.replace("FedProx", "Weak").replace("table1", "first")
    (folder := tmp_path / "renamed").mkdir()
    renamed = make_plan(make_project(folder, paper, printed) / "workflow", "paper")
    assert renamed.runs.keys() == plan.runs.keys()
    assert mirror(renamed, results) == 0
    for run_id, copy in shown(results).items():
        tags = copy.data.tags
        assert copy.info.run_id == before[run_id].info.run_id
        assert copy.info.run_name == tags["mlflow.runName"]
        assert tags["method"] == ("Weak" if "fedprox" in run_id else "FedAvg")
        assert "tiny/first" in tags["fedbench.tables"]


def test_a_plan_of_fewer_tables_leaves_the_other_copies_alone(plan, results, tmp_path):
    for run in plan.runs.values():
        finish(results, run)
    mirror(plan, results)
    part = make_plan(tmp_path / "workflow", "paper", tables=("table2",))
    assert len(part.runs) < len(plan.runs)
    assert mirror(part, results) == 0
    assert shown(results).keys() == plan.runs.keys()


def test_a_copy_that_was_cut_short_is_replaced_and_none_is_made_twice(
    plan, results, monkeypatch, refuses
):
    for run in plan.runs.values():
        finish(results, run)
    damaged = Results(results).run(list(plan.runs)[2]).path / "rounds.parquet"
    whole = damaged.read_bytes()
    damaged.write_bytes(b"")
    with refuses("is not the file that the run wrote"):
        mirror(plan, results)
    damaged.write_bytes(whole)
    with monkeypatch.context() as patch:
        patch.setattr("mlflow.tracking.MlflowClient.set_terminated", _killed)
        with pytest.raises(KeyboardInterrupt):
            mirror(plan, results)
    assert mirror(plan, results) == 2
    assert {run.info.status for run in shown(results).values()} == {"FINISHED"}


def _killed(*_, **__):
    raise KeyboardInterrupt


def test_a_database_that_is_damaged_while_runs_are_copied_is_one_sentence(plan, results, refuses):
    finish(results, next(iter(plan.runs.values())))
    mirror(plan, results)
    finish(results, list(plan.runs.values())[1])
    with sqlite3.connect(results / "mlflow.db") as other:
        other.execute("DROP TABLE metrics")
    with refuses(r"mlflow\.db' cannot be used: .*no such table: metrics; delete the file if"):
        mirror(plan, results)


@pytest.mark.parametrize("kind", ["folder", "text"])
def test_what_is_no_database_is_refused_at_once(plan, refuses, tmp_path, kind):
    file = tmp_path / "results/mlflow.db"
    file.parent.mkdir()
    if kind == "folder":
        file.mkdir()
    else:
        file.write_text("no database")
    words = {"folder": "unable to open database file", "text": "file is not a database"}
    began = time.monotonic()
    with refuses(rf"mlflow\.db' cannot be used: .*{words[kind]}; delete the file"):
        mirror(plan, tmp_path / "results")
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    "uri", ["http://localhost:99999", "http://[::1", f"http://{'x' * 70}:5000"]
)
def test_an_address_that_is_none_is_one_sentence(refuses, uri):
    with refuses(rf"tracking_uri = '{re.escape(uri)}' cannot be used: "):
        client_of(uri)


@pytest.mark.parametrize("answer", ["unavailable", "nothing"])
def test_a_server_that_is_no_use_is_told_of_within_ten_seconds(refuses, monkeypatch, answer):
    monkeypatch.setattr(os, "environ", {**os.environ})
    gone = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            if answer == "nothing":
                gone.wait(60)
            self.send_error(503)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as web:
        threading.Thread(target=web.serve_forever).start()
        began = time.monotonic()
        place = f"127.0.0.1:{web.server_port}"
        with refuses(rf"tracking_uri = 'http://me:\*\*\*@{place}' cannot be used: ") as told:
            client_of(f"http://me:my-secret@{place}")
        assert time.monotonic() - began < 10
        gone.set()
        web.shutdown()
    assert "my-secret" not in str(told.value)
    assert mlflow.TIMEOUT not in os.environ  # what is sent later may take longer


def test_results_that_cannot_be_written(plan, refuses, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with refuses("cannot write there"):
        mirror(plan, tmp_path / "file")


def test_no_file_is_left_in_the_working_folder(plan, results, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    finish(results, next(iter(plan.runs.values())))
    mirror(plan, results)
    assert set(tmp_path.iterdir()) == before


def test_names_of_users_evaluations_are_those_that_mlflow_allows(plan, results):
    row = {"round": 1, "accuracy[two]": 0.5, "accuracy[ema(0.9)]": 0.6, "accuracy[α]": 0.7}
    names = [metric.key for metric in metrics(row, 0)]
    assert names == ["accuracy/two", "accuracy/ema_0.9_", "accuracy/α"]
    run = next(iter(plan.runs.values()))
    history = pd.DataFrame({name: [value] for name, value in row.items()})
    Results(results).run(run.id).finish(record(run, rounds=1), history, {}, {})
    mirror(plan, results)
    assert shown(results)[run.id].data.metrics["accuracy/ema_0.9_"] == 0.6


def test_a_restored_run_ended_when_it_was_trained(plan, results):
    run = next(iter(plan.runs.values()))
    folder = Results(results).run(run.id)
    history = pd.DataFrame({"round": [1], "accuracy": [0.5]})
    made = record(run, rounds=1, seconds={"train": 2.0}, ended="1970-01-01T01:00:00+00:00")
    folder.finish(made, history, {}, {})
    mirror(plan, results)
    info = shown(results)[run.id].info
    assert (info.start_time, info.end_time) == (3_598_000, 3_600_000)


def test_a_runs_times_are_those_of_its_training(plan, results):
    # recorded as 2 s of training that ended at 1,000 s: round 1 after 0.5 s, round 2 after 2 s
    run = next(iter(plan.runs.values()))
    folder = Results(results).run(run.id)
    clocks = {"train_seconds": [0.4, 1.5], "server_seconds": [0.1, 0.5]}
    history = pd.DataFrame({"round": [1, 2], "accuracy": [0.5, 0.6], **clocks})
    seconds = {"train": 1.5, "server": 0.5}
    folder.finish(record(run, rounds=2, seconds=seconds), history, {}, {})
    os.utime(folder.path / "run.json", (1000, 1000))
    mirror(plan, results)
    info = shown(results)[run.id].info
    assert (info.start_time, info.end_time) == (998_000, 1_000_000)
    points = client_of(default_uri(results)).get_metric_history(info.run_id, "accuracy")
    assert [(each.step, each.timestamp) for each in points] == [(1, 998_500), (2, 1_000_000)]

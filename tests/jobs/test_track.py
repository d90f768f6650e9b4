"""What MLflow is told of finished runs, how often it is asked, and what is refused at once."""

import os
import re
import sqlite3
import threading
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest
from mlflow.exceptions import MlflowException

from fedbench.jobs import copying, mlflow_tables, track
from fedbench.jobs.copying import through_client
from fedbench.jobs.told import Point, Told
from fedbench.jobs.track import mirror
from fedbench.plan.plan import make_plan
from fedbench.store import Results
from tests.jobs.made_runs import finish
from tests.project import make_project
from tests.report.test_hostile_names import project

SERVER = "http://localhost:5000"


class Server:
    """Stands for the client of a server, whose start takes seconds."""

    def __init__(self):
        self.runs = {}

    def get_experiment_by_name(self, name):
        return SimpleNamespace(experiment_id="1", lifecycle_stage="active")

    def get_experiment(self, experiment):
        return self.get_experiment_by_name(experiment)

    def search_runs(self, experiments, query, page_token):
        runs = [
            SimpleNamespace(info=SimpleNamespace(run_id=key), data=SimpleNamespace(tags=tags))
            for key, tags in self.runs.items()
        ]
        return type("Page", (list,), {"token": None})(runs)

    def create_run(self, experiment, start_time, tags, run_name):
        key = f"{run_name} {len(self.runs)}"
        self.runs[key] = tags
        return SimpleNamespace(info=SimpleNamespace(run_id=key))

    def log_batch(self, run_id, metrics, params=()):
        pass

    def set_terminated(self, run_id, end_time):
        pass

    def delete_run(self, run_id):
        del self.runs[run_id]


@pytest.fixture
def server(monkeypatch):
    server = Server()
    for module in (track, copying):
        monkeypatch.setattr(module, "client_of", lambda uri: server)
    return server


def test_runs_that_are_there_are_not_copied_again(server, tmp_path):
    # 4 runs: three are finished, then none more, then the fourth
    plan, results = make_plan(make_project(tmp_path) / "workflow", "paper"), tmp_path / "results"
    *others, last = plan.runs.values()
    for run in others:
        finish(results, run)
    assert [mirror(plan, results, SERVER) for _ in range(2)] == [3, 0]
    finish(results, last)
    assert mirror(plan, results, SERVER) == 1
    assert [tags["fedbench.run_id"] for tags in server.runs.values()] == list(plan.runs)


def test_a_run_that_was_deleted_in_mlflow_is_copied_again(server, tmp_path):
    plan, results = make_plan(make_project(tmp_path) / "workflow", "paper"), tmp_path / "results"
    for run in plan.runs.values():
        finish(results, run)
    mirror(plan, results, SERVER)
    server.delete_run(list(server.runs)[1])
    assert [mirror(plan, results, SERVER) for _ in range(2)] == [1, 0]


def test_in_a_local_database_deleted_runs_are_copied_and_a_deleted_experiment_restored(
    tmp_path, capsys
):
    plan, results = make_plan(make_project(tmp_path) / "workflow", "paper"), tmp_path / "results"
    *others, last = plan.runs.values()
    for run in others:
        finish(results, run)
    client = track.client_of(track.default_uri(results))
    assert [mirror(plan, results) for _ in range(2)] == [3, 0]
    experiment = client.get_experiment_by_name("fedbench-paper").experiment_id
    client.delete_run(client.search_runs([experiment])[0].info.run_id)
    assert [mirror(plan, results) for _ in range(2)] == [1, 0]
    client.delete_experiment(experiment)
    finish(results, last)
    assert mirror(plan, results) == 1
    assert "'fedbench-paper' was deleted in MLflow; it is restored" in capsys.readouterr().out
    shown = {run.data.tags["fedbench.run_id"] for run in client.search_runs([experiment])}
    assert shown == {*plan.runs}


def test_a_run_that_was_trained_again_replaces_its_old_copy(server, tmp_path):
    plan, results = make_plan(make_project(tmp_path) / "workflow", "paper"), tmp_path / "results"
    first, again, *_ = plan.runs.values()
    for run in (first, again):
        finish(results, run)
    mirror(plan, results, SERVER)
    before = list(server.runs)
    finish(results, again, accuracy=0.75)
    assert mirror(plan, results, SERVER) == 1
    assert list(server.runs) == [before[0], f"{again.id} 2"]
    assert mirror(plan, results, SERVER) == 0


def test_a_copy_that_was_cut_short_is_gone_on_with(server, tmp_path, refuses):
    plan, results = make_plan(make_project(tmp_path) / "workflow", "paper"), tmp_path / "results"
    for run in plan.runs.values():
        finish(results, run)
    damaged = Results(results).run(list(plan.runs)[2]).path / "rounds.parquet"
    whole = damaged.read_bytes()
    damaged.write_bytes(b"")
    with refuses("is not the file that the run wrote"):
        mirror(plan, results, SERVER)
    damaged.write_bytes(whole)
    assert mirror(plan, results, SERVER) == 2


def test_a_server_that_fails_while_runs_are_copied_is_one_sentence(
    server, tmp_path, monkeypatch, refuses
):
    def away(*_, **__):
        raise MlflowException("(sqlite3.OperationalError) database is locked\n[SQL: UPDATE ...]")

    plan, results = make_plan(make_project(tmp_path) / "workflow", "paper"), tmp_path / "results"
    finish(results, next(iter(plan.runs.values())))
    monkeypatch.setattr(server, "set_terminated", away)
    with refuses(rf"'{SERVER}' cannot be used: .*database is locked$"):
        mirror(plan, results, SERVER)


@pytest.mark.slow
def test_several_processes_copy_each_run_once(tmp_path, monkeypatch):
    monkeypatch.setattr(copying, "_WORTH", 2)
    monkeypatch.setattr(copying, "_AT_ONCE", 1)
    plan, results = make_plan(make_project(tmp_path) / "workflow", "paper"), tmp_path / "results"
    for run in plan.runs.values():
        finish(results, run)
    assert mirror(plan, results, workers=2) == 4
    client = track.client_of(track.default_uri(results))
    assert sorted(each.run for each in track._copies(client, "1")) == sorted(plan.runs)


@pytest.mark.parametrize("kind", ["folder", "text"])
def test_no_database_is_refused_in_a_sentence(refuses, tmp_path, kind):
    plan = make_plan(project(tmp_path), "paper")
    file = tmp_path / "results/mlflow.db"
    file.parent.mkdir()
    if kind == "folder":
        file.mkdir()
    else:
        file.write_text("no database")
    words = {"folder": "a folder stands where MLflow's database would", "text": "no database of"}
    with refuses(rf"mlflow\.db: {words[kind]}"):
        mirror(plan, tmp_path / "results")


@pytest.mark.parametrize(
    "uri", ["http://localhost:99999", "http://[::1", f"http://{'x' * 70}:5000"]
)
def test_an_address_that_is_none_is_one_sentence(refuses, uri):
    with refuses(rf"tracking_uri = '{re.escape(uri)}' is not allowed: "):
        track.client_of(uri)


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

    with ThreadingHTTPServer(("localhost", 0), Handler) as web:
        threading.Thread(target=web.serve_forever).start()
        began = time.monotonic()
        place = f"localhost:{web.server_port}"
        with refuses(rf"tracking_uri = 'http://me:\*\*\*@{place}' cannot be used: ") as told:
            track.client_of(f"http://me:my-secret@{place}")
        assert time.monotonic() - began < 10
        gone.set()
        web.shutdown()
    assert "my-secret" not in str(told.value)


def test_results_that_cannot_be_written(refuses, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with refuses("cannot write there"):
        mirror(make_plan(project(tmp_path), "paper"), tmp_path / "file")


ODD = Told(
    name="a run",
    began=1_000,
    ended=9_000,
    tags={"fedbench.run_id": "a run", "long": "t" * 9_000},
    params={"lr": "0.1", "model": "m" * 7_000},
    points=[
        *(Point("accuracy", value, 2_000 + step, step) for step, value in enumerate((0.5, 0.25))),
        *(Point("loss", float(value), 2_000, 1) for value in ("nan",)),
        *(Point("norm", float(value), 2_000, n) for n, value in enumerate(("inf", "-inf"))),
    ],
)


@pytest.mark.slow
def test_a_local_database_is_written_to_as_mlflows_client_would(tmp_path):
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    client = track.client_of(uri)
    by_client, by_tables = (client.create_experiment(name) for name in ("client", "tables"))
    through_client(client, by_client, ODD)
    mlflow_tables.writer(uri, client.get_experiment(by_tables))(ODD)
    seen = [_seen(client, client.search_runs([each])[0]) for each in (by_client, by_tables)]
    assert seen[0] == seen[1]
    assert all(words in seen[0]["metrics"] for words in ("('accuracy', 0.25)", "('loss', nan)"))


@pytest.mark.slow
def test_a_database_that_cannot_be_written_is_named(tmp_path, monkeypatch, refuses):
    monkeypatch.setattr(mlflow_tables, "_PATIENCE", 0.1)
    file = tmp_path / "mlflow.db"
    client = track.client_of(f"sqlite:///{file}")
    write = mlflow_tables.writer(f"sqlite:///{file}", client.get_experiment("0"))
    with closing(sqlite3.connect(file)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with refuses(r"mlflow\.db' cannot be used: database is locked$"):
            write(ODD)
    file.write_bytes(file.read_bytes()[:4096].ljust(file.stat().st_size, b"\0"))
    with refuses("malformed; delete the file to copy all runs anew"):
        write(ODD)


def _seen(client, run):
    """All that MLflow says of a run, in words; its own ids, which differ, are left out."""
    key, info = run.info.run_id, dict(run.info)
    points = [point for name in run.data.metrics for point in client.get_metric_history(key, name)]
    place = info["artifact_uri"].replace(f"/{info['experiment_id']}/{key}/", "/EXPERIMENT/RUN/")
    said = {
        "info": info | {"run_id": "", "experiment_id": "", "artifact_uri": place},
        "points": sorted(str(dict(point) | {"run_id": ""}) for point in points),
        **{kind: sorted(pairs.items()) for kind, pairs in run.data.to_dictionary().items()},
    }
    return {name: str(value) for name, value in said.items()}

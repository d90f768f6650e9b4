"""Rounds that are sent to a tracker while a run trains; a tracker that is away costs one line."""

import importlib.util
import threading
from types import SimpleNamespace

import pytest

from fedbench import Machine, RunSpec, run
from fedbench.jobs import live
from fedbench.jobs.live import Live, nobody
from fedbench.jobs.trackers import followers

SPEC = RunSpec(model={"mlp": {"hidden": 4}}, clients=4, rounds=3)


class Diary:
    """A tracker that writes down what it is told."""

    def __init__(self, fails_at=None):
        self.rounds, self.closed, self.fails_at = [], False, fails_at

    def tell(self, row):
        if row["round"] == self.fails_at:
            raise ConnectionError("the line is dead")
        self.rounds.append(row["round"])

    def close(self):
        self.closed = True


def followed(follow, spec=SPEC):
    with follow(spec) as seen:
        return run(spec, watch=seen, machine=Machine(device="cpu")).history


def test_every_evaluated_round_is_told_in_order_and_the_run_is_the_same():
    diary, said = Diary(), []
    history = followed(Live(lambda spec: diary, said.append).following)
    assert (diary.rounds, diary.closed, said) == ([1, 2, 3], True, [])
    assert history["loss"].equals(followed(nobody)["loss"])


def test_a_tracker_that_fails_is_said_once_and_not_tried_again():
    opened, said = [], []

    def opener(spec):
        opened.append(spec.seed)
        return Diary(fails_at=2)

    follow = Live(opener, said.append).following
    assert [len(followed(follow, SPEC.changed(seed=seed))) for seed in (0, 1)] == [3, 3]
    assert opened == [0]
    assert said == ["live: ConnectionError: the line is dead; the runs go on without it"]


def test_a_tracker_that_does_not_answer_is_waited_for_once(monkeypatch):
    monkeypatch.setattr(live, "PATIENCE", 0.2)
    away, said = threading.Event(), []
    follow = Live(lambda spec: away.wait(60), said.append).following
    assert len(followed(follow)) == 3
    with follow(SPEC) as seen:
        seen({"round": 1.0})
    assert said == ["live: no answer within 0.2 s; the runs go on without it"]
    assert not away.is_set()  # the tracker still does not answer: nobody waited for it to the end
    away.set()


def test_a_run_that_raises_still_raises():
    def broken():
        with Live(lambda spec: Diary(), print).following(SPEC):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken()


def test_an_unknown_tracker_is_refused(refuses, tmp_path):
    with refuses("live: no tracker 'mlfow'; did you mean 'mlflow'?"):
        followers("mlfow", tmp_path, print)


class Client:
    """MLflow's client as far as a run that is followed needs it."""

    def __init__(self):
        self.runs, self.metrics, self.ended = {}, [], []

    def get_experiment_by_name(self, name):
        return SimpleNamespace(experiment_id=name, lifecycle_stage="active")

    def search_runs(self, experiments, query, max_results):
        return [run for key, run in self.runs.items() if f"'{key}'" in query]

    def create_run(self, experiment, run_name, tags):
        info = type("Info", (), {"run_id": f"number {len(self.runs)}"})
        self.runs[tags["fedbench.run_id"]] = type("Run", (), {"info": info})
        return self.runs[run_name]

    def update_run(self, run_id, status):
        self.status = status

    def log_batch(self, run_id, metrics=(), params=()):
        self.metrics += [(m.key, m.step, m.value) for m in metrics]

    def set_terminated(self, run_id):
        self.ended.append(run_id)


def test_mlflow_gets_one_run_also_where_it_is_resumed(monkeypatch, tmp_path):
    from fedbench.jobs import live_mlflow

    client = Client()
    monkeypatch.setattr(live_mlflow, "client_of", lambda uri: client)
    opened = live_mlflow.opener("http://nowhere", tmp_path)
    for at in (1, 2):
        tracker = opened(SPEC)
        tracker.tell({"round": float(at), "accuracy[next]": at / 4})
        tracker.close()
    assert list(client.runs) == [SPEC.id]
    assert client.metrics == [("accuracy/next", 1, 0.25), ("accuracy/next", 2, 0.5)]
    assert client.ended == ["number 0"] * 2


def test_tensorboard_gets_a_folder_of_events(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    history = followed(followers("tensorboard", tmp_path, print))
    events = EventAccumulator(str(tmp_path / "tensorboard" / SPEC.id)).Reload()
    told = [(e.step, e.value) for e in events.Scalars("accuracy")]
    assert told == [*enumerate(map(pytest.approx, history["accuracy"]), start=1)]


def test_without_tensorboard_a_sentence_says_how_to_get_it(refuses, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with refuses(r"tensorboard is not installed; pip install tensorboard"):
        followers("tensorboard", tmp_path, print)

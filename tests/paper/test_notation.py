"""Metrics that name their moment, and what is read from a history."""

import math

import pandas as pd
import pytest

from fedbench.paper import history_metrics
from fedbench.paper.metrics import Metric
from fedbench.paper.yaml_notation import Reading, reading
from fedbench.report.values import collected_frames


@pytest.fixture
def frame(tmp_path):
    rows = {"run_id": ["a"] * 4, "status": ["finished"] * 4, "round": [2, 4, 6, 8]}
    rows |= {"rounds": [8] * 4, "eval_every": [2] * 4}
    rows |= {"train_seconds": [2.0, 8.0, 10.0, 16.0], "server_seconds": [0.0, 0.0, 2.0, 2.0]}
    sent = [250_000, 500_000, 750_000, 1_000_000]
    rows |= {
        "floats_down": sent,
        "floats_up": [2 * n for n in sent],
        "sample_passes": sent,
        "compute": sent,
    }
    history = pd.DataFrame({**rows, "accuracy": [0.3, 0.5, 0.5, 0.4], "loss": [3.0, 1.0, 2.0, 2.0]})
    history.to_parquet(tmp_path / "x.parquet")
    return collected_frames.read(tmp_path / "x.parquet")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("accuracy", 0.4),
        ("accuracy@final", 0.4),
        ("accuracy@best", 0.5),
        ("accuracy@5", 0.5),  # round 4 is the last evaluated by then
        ("accuracy@mean", 0.425),
        ("accuracy@median", 0.45),
        ("loss@best", 1.0),
        ("accuracy@jumps", 0.1),  # 0.2, 0 and 0.1
        ("best_round", 4),  # a tie keeps the first
        ("best_round@2", 2),
        ("round_seconds@2", 1),  # two rounds in 2 s
        ("round_seconds@median", 2.5),  # 1, 3, 2 and 3 s a round
        ("seconds", 18.0),  # 16 s at the clients and 2 s at the server
        ("megabytes_down@2", 1.0),  # 250,000 numbers of 4 bytes
        ("megabytes", 12.0),  # (1,000,000 + 2,000,000) · 4 bytes
        ("round@to:0.3", 2),
        ("round@to:0.45", 4),  # round 2 has 0.3, round 4 has 0.5
        ("seconds@to:0.45", 8.0),
        ("megabytes@to:0.45", 6.0),  # (500,000 + 1,000,000) · 4 bytes
        ("sample_passes@to:0.5", 500_000),
        ("thousand_sample_passes", 1000.0),  # a million passes
        ("round@to:loss=2", 4),  # a loss is reached from above
        ("round@to:0.51", math.inf),
        ("accuracy@to:megabytes=6", 0.5),  # a budget is spent from below
        ("round@to:megabytes=13", math.inf),
    ],
)
def test_a_metric_is_read_at_its_moment(frame, text, value):
    assert history_metrics.values(frame, text, "final") == {"a": pytest.approx(value)}


def test_a_round_that_a_run_does_not_have_is_not_its_last(frame):
    assert history_metrics.values(frame, "accuracy@9", "final") == {}


@pytest.mark.parametrize("moment", ["to:0.45", "to:0.9999999", "to:loss=0.12345678", "mean:10"])
def test_a_moment_is_written_as_it_was_read(moment):
    assert reading(f"round@{moment}").moment == moment


def test_a_metric_without_a_moment_takes_the_tables(frame):
    assert history_metrics.values(frame, "accuracy", "best") == {"a": 0.5}
    assert reading("accuracy", 50) == Reading("accuracy", 50)


def test_a_moment_that_is_none_is_refused(refuses):
    with refuses("metric 'accuracy@last': after @ must stand final"):
        reading("accuracy@last")


def test_a_column_by_its_old_name_is_refused_with_its_new_one(refuses):
    with refuses("metric 'kilopasses@to:0.5': kilopasses is called thousand_sample_passes now"):
        reading("kilopasses@to:0.5")


def test_labels_say_the_moment():
    labels = [Metric(text).label for text in ("accuracy@best", "accuracy@50", "best_round")]
    assert labels == ["Accuracy, best", "Accuracy at round 50", "Round of the best"]
    assert Metric("accuracy@best").is_score
    assert not Metric("best_round").is_ranked


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("accuracy@mean:4", 0.45),  # 0.5 and 0.4 at rounds 6 and 8 of 5 to 8
        ("accuracy@mean:3", 0.45),  # rounds 6 to 8
        ("accuracy@median:5", 0.5),
        ("accuracy@best:1", 0.4),
        ("accuracy@best:2", 0.4),
        ("accuracy@std:4", 0.1 / 2**0.5),  # of 0.5 and 0.4: 0.05 off their mean each, n − 1 = 1
        ("accuracy@std", (0.0275 / 3) ** 0.5),  # 0.125² + 0.075² + 0.075² + 0.025² = 0.0275
        ("accuracy@jumps:6", 0.05),  # 0 and 0.1
    ],
)
def test_a_moment_of_the_evaluated_rounds_among_the_last_ones(frame, text, value):
    assert history_metrics.values(frame, text, "final") == {"a": pytest.approx(value)}


def test_a_run_with_fewer_rounds_has_no_such_moment(frame):
    assert history_metrics.values(frame, "accuracy@mean:8", "final") == {"a": pytest.approx(0.425)}
    assert history_metrics.values(frame, "accuracy@mean:9", "final") == {}
    assert [reading(f"accuracy{at}").needs for at in ("@mean:5", "@mean", "@7", "")] == [5, 1, 7, 1]


def test_one_evaluation_among_the_last_rounds_does_not_vary(frame):
    assert history_metrics.values(frame, "accuracy@std:2", "final") == {}  # round 8 of 7 and 8
    assert history_metrics.values(frame, "accuracy@jumps:2", "final") == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "accuracy@final:3",
            "after @ must stand final, .* such as mean:N for the mean of the last N",
        ),
        ("accuracy@std:1", "after std: must stand a number of rounds ≥ 2"),
        ("accuracy@mean:", "after mean: must stand a number of rounds ≥ 1"),
        ("accuracy@mean:x", "after mean: must stand a number of rounds ≥ 1"),
    ],
)
def test_a_window_that_is_none_is_refused(refuses, text, words):
    with refuses(words):
        reading(text)


@pytest.mark.parametrize("words", ["", "45", "0", "nan", "=0.4", "loss=", "loss=low"])
def test_a_target_that_no_run_can_reach_is_refused(refuses, words):
    with refuses(
        "after to: must stand an accuracy or F1 above 0 and at most 1, such as to:0.45, or"
    ):
        reading(f"round@to:{words}")


def test_what_a_target_takes_is_better_low_and_says_so():
    rounds, traffic = Metric("round@to:0.45"), Metric("megabytes@to:loss=0.3")
    assert rounds.label == "Rounds until 45 % accuracy"
    assert traffic.label == "Traffic (MB) until loss 0.3"
    assert [rounds.lower_is_better, rounds.is_ranked, rounds.is_score] == [True, True, False]
    assert reading("round@to:0.45").moment == "to:0.45"
    assert reading("megabytes@to:loss=0.3").columns == ("megabytes", "loss")


def test_how_much_a_curve_varies_is_better_low():
    found = Metric("accuracy@std:50")
    assert found.label == "Accuracy, standard deviation over the rounds (last 50 rounds)"
    assert found.lower_is_better
    assert Metric("accuracy@mean:10").label == "Accuracy, mean (last 10 rounds)"
    assert Metric("accuracy@last:5").label == "Accuracy, mean of the last 5 evaluations"
    assert not Metric("accuracy@mean:10").lower_is_better


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("accuracy", 0.1),
        ("accuracy@best", 0.6),
        (
            "accuracy@mean",
            0.22,
        ),  # 0.6 and 0.2 at rounds 2 and 4, 0.1 at 5 in place of 6, at 8 and at 10
        ("accuracy@median", 0.1),
        ("accuracy@mean:6", 0.1),  # at 5, 8 and 10
        ("accuracy@mean:7", 0.125),  # and 0.2 at 4,
        ("accuracy@std", float("nan")),  # a model that is lost is not steady
        ("accuracy@jumps:4", float("nan")),
        ("train_loss", float("nan")),
        ("train_loss@mean", float("nan")),  # not the mean of what came before
        ("train_loss@best", 1.0),
        ("round@to:0.6", 2),
        ("round@to:0.7", math.inf),
        ("round_seconds@median", 2.0),  # (6 − 0) / 2, (8 − 6) / 2 and (10 − 8) / 1: 3, 1 and 2
    ],
)
def test_a_diverged_run_is_filled_to_its_planned_rounds(tmp_path, text, value):
    rows = {"run_id": ["a"] * 3, "status": ["diverged"] * 3, "round": [2, 4, 5]}
    rows |= {"rounds": [10] * 3, "eval_every": [2] * 3, "accuracy": [0.6, 0.2, 0.1]}
    rows |= {"train_seconds": [6.0, 8.0, 10.0], "server_seconds": [0.0] * 3}
    history = pd.DataFrame({**rows, "train_loss": [1.0, 2.0, float("nan")]})
    history.to_parquet(tmp_path / "x.parquet")
    found = history_metrics.values(collected_frames.read(tmp_path / "x.parquet"), text, "final")
    assert found == {"a": pytest.approx(value, nan_ok=True)}


def test_seconds_are_those_of_a_round_and_not_of_the_rounds_between_two_evaluations(tmp_path):
    # cumulative seconds 5 at round 5 and 11 at round 8: 5 / 5 = 1 and (11 − 5) / 3 = 2 a round
    rows = {"run_id": ["a"] * 2, "status": ["finished"] * 2, "round": [5, 8]}
    rows |= {"rounds": [8] * 2, "eval_every": [5] * 2}
    seconds = {"train_seconds": [4.0, 9.0], "server_seconds": [1.0, 2.0]}
    pd.DataFrame({**rows, **seconds}).to_parquet(tmp_path / "x.parquet")
    assert collected_frames.read(tmp_path / "x.parquet")["round_seconds"].tolist() == [1.0, 2.0]

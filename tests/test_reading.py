"""Metrics that name their moment, and what is read from a history."""

import pandas as pd
import pytest

from fedbench.errors import FedbenchError
from fedbench.reading import Reading, reading
from fedbench.report import frames
from fedbench.report.metrics import Metric


@pytest.fixture
def frame(tmp_path):
    rows = {"run_id": ["a"] * 4, "status": ["finished"] * 4, "round": [2, 4, 6, 8]}
    rows |= {"train_seconds": [2.0, 8.0, 10.0, 16.0], "server_seconds": [0.0, 0.0, 2.0, 2.0]}
    history = pd.DataFrame({**rows, "accuracy": [0.3, 0.5, 0.5, 0.4], "loss": [3.0, 1.0, 2.0, 2.0]})
    history.to_parquet(tmp_path / "x.parquet")
    return frames.read(tmp_path / "x.parquet")


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
    ],
)
def test_a_metric_is_read_at_its_moment(frame, text, value):
    assert frames.values(frame, text, "final") == {"a": pytest.approx(value)}


def test_a_metric_without_a_moment_takes_the_tables(frame):
    assert frames.values(frame, "accuracy", "best") == {"a": 0.5}
    assert reading("accuracy", 50) == Reading("accuracy", 50)


def test_a_moment_that_is_none_is_refused():
    with pytest.raises(FedbenchError, match="metric 'accuracy@last': after @ must stand final"):
        reading("accuracy@last")


def test_labels_say_the_moment():
    labels = [Metric(text).label for text in ("accuracy@best", "accuracy@50", "best_round")]
    assert labels == ["Accuracy, best", "Accuracy at round 50", "Round of the best"]
    assert Metric("accuracy@best").is_score
    assert not Metric("best_round").is_ranked

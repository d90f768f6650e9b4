"""A damaged frame is refused in a sentence that names it."""

import pandas as pd
import pytest

from fedbench import RunSpec
from fedbench.base.errors import FedbenchError
from fedbench.paper.history_metrics import values
from fedbench.report.values.collected_frames import Collected, Guess, curves, mean_limit, read

NAN = float("nan")
GOOD = {"run_id": ["a", "a"], "status": "finished", "round": [1, 2], "rounds": 2, "eval_every": 1}


def refusal(file, frame):
    frame.to_parquet(file)
    with pytest.raises(FedbenchError) as caught:
        read(file)
    return str(caught.value).removeprefix(f"{file}: ")


def test_a_sound_frame_is_read(tmp_path):
    frame = pd.DataFrame(GOOD | {"accuracy": [0.1, 0.2]})
    frame.to_parquet(tmp_path / "p.parquet")
    assert read(tmp_path / "p.parquet")["best_round"].tolist() == [1, 2]


def test_a_probe_that_measures_in_some_rounds_has_its_last_number_at_the_end():
    nan = float("nan")
    frame = pd.DataFrame(GOOD | {"gradient_cosine": [0.3, nan], "loss": [1.0, nan]})
    assert values(frame, "gradient_cosine", "final") == {"a": 0.3}
    assert str(values(frame, "loss", "final")) == "{'a': nan}"  # a score that is no number
    lost = frame.assign(status="diverged")
    assert str(values(lost, "gradient_cosine", "final")) == "{'a': nan}"


def test_a_run_without_the_target_s_column_reaches_nothing_and_misses_nothing():
    other = {"run_id": ["b", "b"], "accuracy[two]": [float("nan")] * 2}
    frame = pd.concat(
        [pd.DataFrame(GOOD | {"accuracy[two]": [0.4, 0.5]}), pd.DataFrame(GOOD | other)]
    )
    assert values(frame, "round@to:accuracy[two]=0.5", "final") == {"a": 2}
    assert values(frame, "round@to:accuracy[two]=0.6", "final") == {"a": float("inf")}


def test_half_a_file(refuses, tmp_path):
    file = tmp_path / "p.parquet"
    pd.DataFrame(GOOD).to_parquet(file)
    whole = file.read_bytes()
    for size in (0, 4, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        with refuses(r"p\.parquet: cannot be used"):
            read(file)


def test_columns_and_rounds(tmp_path):
    file = tmp_path / "p.parquet"
    again = "; collect the runs again"
    assert refusal(file, pd.DataFrame(GOOD).drop(columns="status")) == f"no column 'status'{again}"
    words = pd.DataFrame(GOOD | {"round": ["one", "two"]})
    assert refusal(file, words) == f"column 'round' has no numbers{again}"
    twice = pd.DataFrame(GOOD | {"round": [2, 2]})
    assert refusal(file, twice) == f"run a has round 2 twice{again}"
    text = pd.DataFrame(GOOD | {"accuracy": ["high", "low"]})
    assert refusal(file, text) == f"column 'accuracy' has no numbers{again}"


def test_what_a_diverged_run_cost_is_infinite_but_up_to_a_target(tmp_path):
    both = [GOOD | {"run_id": "b", "status": "diverged", "round": [1, 1]}, GOOD]
    cost = {"sample_passes": [10.0, 20.0], "accuracy": [0.5, 0.6], "train_loss": [2.0, 1.0]}
    frame = pd.concat([pd.DataFrame(each | cost) for each in both])
    frame = frame[~((frame["run_id"] == "b") & (frame["sample_passes"] == 20))]
    found = Collected(frame, tmp_path)
    assert found.values("sample_passes") == {"a": 20, "b": float("inf")}
    assert found.values("sample_passes@to:0.5") == {"a": 10, "b": 10}
    assert found.values("train_loss") == {"a": 1.0, "b": 2.0}


@pytest.mark.parametrize(
    ("status", "last", "filled"),
    [("diverged", NAN, [2.0, NAN, NAN]), ("diverged", 3.0, [2.0, 3.0, 3.0]),
     ("finished", NAN, [2.0, 2.0, 2.0])],
)  # fmt: skip
def test_a_diverged_run_keeps_its_last_value_or_that_it_has_none(status, last, filled):
    run = RunSpec(rounds=3)
    frame = pd.DataFrame({"run_id": run.id, "status": status, "round": [1, 2], "loss": [2.0, last]})
    kept = curves(frame, "loss", [run])[run.id]
    assert kept.tolist() == pytest.approx(filled, nan_ok=True)


def test_the_limit_of_guessing_is_the_mean_of_the_data_sets():
    guesses = {"digits": Guess(0.1, 400, 1000), "toy": Guess(0.25, 400, 1000), "file": None}
    runs = [RunSpec(dataset=name, seed=seed) for name in ("digits", "toy") for seed in (0, 1)]
    limit = mean_limit(runs, lambda dataset: guesses[dataset.name])
    assert limit == mean_limit(runs[::-1], lambda dataset: guesses[dataset.name])
    assert limit == pytest.approx((guesses["digits"].limit + guesses["toy"].limit) / 2)
    alone = [RunSpec(dataset="file"), *runs]
    assert mean_limit(alone, lambda dataset: guesses[dataset.name]) is None

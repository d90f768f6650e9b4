"""The winner of a search, from histories written by hand."""

import json

import pandas as pd
import pytest

from fedbench.base.errors import FedbenchError
from fedbench.plan.search import resolved, search_id, select, trial_runs, words
from fedbench.spec import RunSpec
from fedbench.store import Results
from tests.engine.records import record


def write(results, run, accuracies, column="val_accuracy"):
    history = pd.DataFrame({"round": range(1, len(accuracies) + 1), column: accuracies})
    status = "finished" if len(accuracies) == run.rounds else "diverged"
    found = record(run, status=status, rounds=len(accuracies))
    Results(results).run(run.id).finish(found, history, {}, {})


def searched(by, on="held-out"):
    return RunSpec(rounds=3, tune={"grid": {"lr": [0.01, 0.1, 1.0]}, "by": by, "on": on})


def test_switches_and_null_are_tried_as_they_are():
    grid = {"fedgkd.scale_t": [True, False], "clip": [None, 10.0]}
    trials = trial_runs(RunSpec(parts=["fedgkd"], tune={"grid": grid}))
    tried = [(trial.parts[0].params["scale_t"], trial.clip) for trial in trials]
    assert tried == [(True, None), (True, 10.0), (False, None), (False, 10.0)]


@pytest.mark.parametrize(
    "tune",
    [
        {"grid": {"validation": [0.1, 0.2]}},
        {"grid": {"lr": [0.1]}, "trials": {"validation": 0.2}},
    ],
)
def test_what_a_search_holds_out_is_its_share(refuses, tune):
    with refuses(r"validation cannot be searched or set, .* tune\.share"):
        RunSpec(tune=tune)


def test_final_takes_the_last_accuracy_and_mean_the_whole_curve(tmp_path):
    # lr   curve           final  mean
    # .01  0.2 0.2 0.9     0.9    0.433
    # .1   0.6 0.6 0.6     0.6    0.6
    # 1    0.1 (diverged)  0.1    0.1
    for by, best in (("final", 0.01), ("mean", 0.1)):
        run = searched(by)
        trials = trial_runs(run)
        for trial, curve in zip(trials, ([0.2, 0.2, 0.9], [0.6, 0.6, 0.6], [0.1]), strict=True):
            write(tmp_path, trial, curve)
        found = select(run, tmp_path)
        assert found["chosen"] == {"lr": best}
        assert found["on"] == "held-out"
        assert found["on_edge"] == (["lr"] if best == 0.01 else [])
        assert [t["score"] for t in found["trials"]][2] == pytest.approx(0.1)


def test_any_metric_with_its_moment_may_choose(tmp_path):
    # rounds to 60 % on held-out data: 3, 2 and never; best loss there .5, .4 and .3
    curves = ([0.2, 0.5, 0.7], [0.1, 0.6, 0.1], [0.5, 0.5, 0.59])
    losses = ([0.9, 0.8, 0.5], [0.9, 0.4, 0.9], [0.3, 0.5, 0.5])
    wanted = {
        "round@to:0.6": (0.1, [3, 2, None]),
        "loss@best": (1.0, [0.5, 0.4, 0.3]),
        "accuracy@last:2": (0.01, [pytest.approx(0.6), pytest.approx(0.35), pytest.approx(0.545)]),
    }
    for by, (chosen, scores) in wanted.items():
        run = searched(by)
        for trial, curve, loss in zip(trial_runs(run), curves, losses, strict=True):
            history = pd.DataFrame({"round": [1, 2, 3], "val_accuracy": curve, "val_loss": loss})
            history["accuracy"], history["loss"] = 0.99, 0.0  # of the test set: not looked at
            found = record(trial, rounds=3)
            Results(tmp_path).run(trial.id).finish(found, history, {}, {})
        found = select(run, tmp_path)
        assert found["chosen"] == {"lr": chosen}, by
        assert [trial["score"] for trial in found["trials"]] == scores
    never = searched("round@to:0.95")
    with pytest.raises(FedbenchError, match=r"chooses by round@to:0\.95, and no trial has it"):
        select(never, tmp_path)


def test_what_a_search_may_choose_by(refuses):
    with refuses(r"by = 'accuracy' is not allowed; it must be final, mean, best, or a metric"):
        searched("accuracy")
    assert words(searched("round@to:0.97", on="test")) == (
        "the best of 3 by rounds until 97 % accuracy on the test set"
    )
    assert words(searched("best")) == "the best of 3 by the best accuracy on held-out training data"


def test_the_mean_of_a_diverged_trial_counts_the_evaluations_that_it_never_made(tmp_path):
    # 25 rounds, scored in 10, 20 and 25: diverged in 17 after scores .5 and .2 (its last) there is
    # one more, .2 again: (.5 + .2 + .2) / 3 = .3; a finished trial that stopped early has no more
    run = RunSpec(
        rounds=25, eval_every=10, tune={"grid": {"lr": [0.01, 0.1]}, "by": "mean", "on": "held-out"}
    )
    first, second = trial_runs(run)
    history = {"round": [10, 17], "val_accuracy": [0.5, 0.2]}
    lost = record(first, status="diverged", rounds=17)
    Results(tmp_path).run(first.id).finish(lost, pd.DataFrame(history), {}, {})
    done = record(second, status="finished", rounds=10)
    Results(tmp_path).run(second.id).finish(done, pd.DataFrame(history)[:1], {}, {})
    found = select(run, tmp_path)
    assert [t["score"] for t in found["trials"]] == [pytest.approx(0.3), 0.5]


def test_best_takes_the_best_evaluated_round(tmp_path):
    # lr   curve                  last  best
    # .01  0.5 0.5 0.5            0.5   0.5
    # .1   0.2 0.7 0.3            0.3   0.7
    # 1    0.8 0.1 (diverged)     0.1   0.8: not chosen, because it diverged
    run = searched("best")
    trials = trial_runs(run)
    for trial, curve in zip(trials, ([0.5] * 3, [0.2, 0.7, 0.3], [0.8, 0.1]), strict=True):
        write(tmp_path, trial, curve)
    found = select(run, tmp_path)
    assert (found["chosen"], found["by"]) == ({"lr": 0.1}, "best")
    assert [t["score"] for t in found["trials"]] == [0.5, 0.7, 0.8]


def test_where_a_trial_of_every_setting_diverged_the_highest_score_is_chosen(tmp_path):
    run = searched("best")
    for trial, value in zip(trial_runs(run), (0.2, 0.4, 0.3), strict=True):
        write(tmp_path, trial, [value, 0.1])
    assert select(run, tmp_path)["chosen"] == {"lr": 0.1}


@pytest.mark.parametrize("by", ["final", "mean", "best"])
def test_a_trial_that_diverged_before_any_score_is_the_worst(tmp_path, by):
    run = searched(by)
    first, *rest = trial_runs(run)
    write(tmp_path, first, [0.9], column="loss")
    for trial in rest:
        write(tmp_path, trial, [float("nan"), 0.1, 0.1])
    found = select(run, tmp_path)
    assert found["trials"][0]["score"] == 0
    assert found["chosen"] == {"lr": 0.1}


def test_a_finished_trial_without_the_score_is_refused(refuses, tmp_path):
    run = searched("final")
    for trial in trial_runs(run):
        write(tmp_path, trial, [1, 1, 1], column="loss")
    with refuses("has no 'val_accuracy', by which its search chooses"):
        select(run, tmp_path)


def test_a_run_that_diverged_late_counts_with_its_last_value_to_the_end(tmp_path):
    run = searched("mean")
    trials = trial_runs(run)
    # 0.9 then diverged to 0.1: (0.9 + 0.1 + 0.1) / 3 = 0.367 loses to 0.4 throughout
    for trial, curve in zip(trials, ([0.9, 0.1], [0.4, 0.4, 0.4], [0.3, 0.3, 0.3]), strict=True):
        write(tmp_path, trial, curve)
    found = select(run, tmp_path)
    assert found["chosen"] == {"lr": 0.1}
    assert found["trials"][0]["score"] == pytest.approx(1.1 / 3)


def test_a_search_on_the_test_set_reads_test_accuracy(tmp_path):
    run = searched("final", on="test")
    for trial, value in zip(trial_runs(run), (0.5, 0.7, 0.6), strict=True):
        write(tmp_path, trial, [0, 0, value], column="accuracy")
    assert select(run, tmp_path)["chosen"] == {"lr": 0.1}


def test_the_run_takes_the_winner_and_keeps_its_identity(refuses, tmp_path):
    run = searched("final")
    file = Results(tmp_path).winner(search_id(run))
    with refuses("is missing; the same command of Snakemake chooses a winner"):
        resolved(run, tmp_path)
    for trial, value in zip(trial_runs(run), (0.5, 0.6, 0.7), strict=True):
        write(tmp_path, trial, [0, 0, value])
    file.parent.mkdir()
    file.write_text(json.dumps(select(run, tmp_path)))
    assert resolved(run, tmp_path) == RunSpec(rounds=3, lr=1.0)


def test_a_winner_that_its_trials_did_not_choose_is_refused(tmp_path):
    run = searched("final")
    for trial, value in zip(trial_runs(run), (0.5, 0.6, 0.7), strict=True):
        write(tmp_path, trial, [0, 0, value])
    file = Results(tmp_path).winner(search_id(run))
    file.parent.mkdir()
    file.write_text(json.dumps({"chosen": {"lr": 0.1}}))
    with pytest.raises(
        FedbenchError, match=r"says \{'lr': 0.1\}.* winner is \{'lr': 1.0\}; delete"
    ):
        resolved(run, tmp_path)


def test_a_fixed_partition_is_that_of_the_trials_and_one_search_serves_all_seeds():
    tune = {"grid": {"lr": [0.1, 0.3]}, "seeds": [0, 1]}
    first, second = (RunSpec(seed=seed, data_seed=7, tune=tune) for seed in (0, 1))
    assert search_id(first) == search_id(second)
    assert [trial.partition_seed for trial in trial_runs(first)] == [7] * 4
    assert [trial.partition_seed for trial in trial_runs(RunSpec(tune=tune))] == [0, 0, 1, 1]

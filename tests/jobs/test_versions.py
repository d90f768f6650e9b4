"""Runs of one paper are collected only if all of them, and their trials, had the same data."""

import shutil

import pandas as pd
import pytest

from fedbench import FedbenchError, RunSpec
from fedbench.jobs.collect import collect
from fedbench.plan.data_checks import data_key
from fedbench.plan.search import trial_runs
from fedbench.store import Results, RunFolder
from tests.engine.records import record

SEARCHED = RunSpec(rounds=1, tune={"grid": {"lr": [0.1, 0.2]}})
SENTENCES = RunSpec(rounds=1, dataset="sst5", model="distilbert")
DEVELOPED = SENTENCES.changed(dataset={"sst5": {"development": True}})


def finish(results, run, chosen=None, **data):
    """Leave a finished run that says this of its data, and what its search chose."""
    actual = run.changed(tune=None, **(chosen or {}))
    found = record(run, resolved=actual.model_dump(mode="json"))
    found["data"] |= data
    history = pd.DataFrame({"round": [1], "accuracy": [0.5], "val_accuracy": [0.5]})
    RunFolder(results / "runs" / run.id).finish(found, history, {}, {})


def test_a_run_and_the_trials_of_its_search_had_the_same_data(tmp_path):
    first, second = trial_runs(SEARCHED)
    finish(tmp_path, SEARCHED, checksum="b" * 64)
    assert len(collect([SEARCHED], tmp_path)) == 1  # trials that are gone tell nothing
    finish(tmp_path, first, checksum="b" * 64)
    assert len(collect([SEARCHED], tmp_path)) == 1
    finish(tmp_path, second, checksum="a" * 64)
    alone = (
        rf"'digits' was not the same.*a{{12}} \({second.id}\).*delete the folder \S+{second.id} to"
    )
    with pytest.raises(FedbenchError, match=alone):
        collect([SEARCHED], tmp_path)
    shutil.rmtree(tmp_path / "runs" / first.id)  # one against one: either may be wrong
    with pytest.raises(FedbenchError, match="delete the folders of the runs trained on other data"):
        collect([SEARCHED], tmp_path)


def test_runs_of_one_search_had_the_same_winner(tmp_path):
    again = SEARCHED.changed(seed=1)
    finish(tmp_path, SEARCHED, {"lr": 0.1})
    finish(tmp_path, again, {"lr": 0.1})
    assert collect([SEARCHED, again], tmp_path)["lr"].tolist() == [0.1, 0.1]
    shutil.rmtree(tmp_path / "runs" / again.id)
    finish(tmp_path, again, {"lr": 0.2})
    both = rf'chose \{{"lr": 0.1\}} \({SEARCHED.id}\) and \{{"lr": 0.2\}} \({again.id}\): its'
    with pytest.raises(FedbenchError, match=both):
        collect([SEARCHED, again], tmp_path)


def test_a_search_may_choose_a_sampler_by_its_name(tmp_path):
    run = RunSpec(rounds=1, tune={"grid": {"sampler": ["uniform", "bernoulli"]}})
    finish(tmp_path, run, {"sampler": "bernoulli"})
    assert collect([run], tmp_path)["tuned"].tolist() == ['{"sampler": "bernoulli"}']


def test_every_row_of_a_run_has_its_settings(tmp_path):
    # one evaluated round each: a clipping of 1 stays a number beside none
    runs = [RunSpec(rounds=1, lr=0.1), RunSpec(rounds=1, lr=0.2, clip=1)]
    for run in runs:
        finish(tmp_path, run)
    frame = collect(runs, tmp_path)
    shown = frame[["run_id", "round", "lr", "clip", "parts"]].to_numpy().tolist()
    assert shown == [[runs[0].id, 1, 0.1, None, ""], [runs[1].id, 1, 0.2, 1.0, ""]]


def test_a_column_that_only_some_runs_have_is_empty_in_the_others(tmp_path):
    histories = [{"round": [1], "accuracy": [1]}, {"round": [1, 2], "accuracy": [0.5, 0.25]}]
    runs = [RunSpec(rounds=1), RunSpec(rounds=2)]
    for run, history, drift in zip(runs, histories, ([3], None), strict=True):
        columns = history | ({"drift": drift} if drift else {})
        told = record(run, rounds=run.rounds, resolved=run.model_dump(mode="json"))
        RunFolder(tmp_path / "runs" / run.id).finish(told, pd.DataFrame(columns), {}, {})
    frame = collect(runs, tmp_path)
    assert frame["accuracy"].tolist() == [1.0, 0.5, 0.25]  # whole numbers beside fractions
    assert frame["drift"].fillna(-1).tolist() == [3.0, -1, -1]
    assert frame["round"].tolist() == [1, 1, 2]
    assert frame["round"].dtype == "int64"


def test_data_sets_that_share_a_file_are_compared_by_it(tmp_path):
    # the development file is read by the second run alone, so their checksums differ
    files = {"file": "data/sst5", "sha256 train.txt": "1" * 64, "checksum": "a" * 64}
    more = files | {"sha256 dev.txt": "2" * 64, "checksum": "b" * 64}
    finish(tmp_path, SENTENCES, **files)
    finish(tmp_path, DEVELOPED, **more)
    assert len(collect([SENTENCES, DEVELOPED], tmp_path)) == 2
    finish(tmp_path, DEVELOPED, **more | {"sha256 train.txt": "3" * 64})
    said = rf"sst5/train.txt was not the same.*1{{12}} \({SENTENCES.id}\) and 3{{12}}"
    with pytest.raises(FedbenchError, match=said):
        collect([SENTENCES, DEVELOPED], tmp_path)


def test_a_file_compressed_anew_holds_the_same_data(tmp_path):
    # the sha256 is of the file, the checksum of the arrays in it
    runs = [RunSpec(rounds=1, dataset="mnist", lr=lr) for lr in (0.1, 0.2)]
    for run, sha in zip(runs, ("1" * 64, "2" * 64), strict=True):
        finish(tmp_path, run, file="mnist.npz", sha256=sha, checksum="a" * 64)
    assert len(collect(runs, tmp_path)) == 2
    finish(tmp_path, runs[1], file="mnist.npz", sha256="2" * 64, checksum="b" * 64)
    with pytest.raises(FedbenchError, match="'mnist' was not the same"):
        collect(runs, tmp_path)


def test_files_in_different_places_are_different_files(tmp_path):
    mine, yours = (SEARCHED.changed(tune=None, dataset={"file": {"path": p}}) for p in ("a", "b"))
    finish(tmp_path, mine, file="x", sha256="1" * 64, checksum="a" * 64)
    finish(tmp_path, yours, file="x", sha256="2" * 64, checksum="b" * 64)
    assert len(collect([mine, yours], tmp_path)) == 2


def test_damaged_facts_of_a_data_set_name_the_way_out(tmp_path):
    finish(tmp_path, SENTENCES, checksum="a" * 64)
    file = Results(tmp_path).data(data_key(SENTENCES.dataset))
    file.parent.mkdir()
    file.write_text('{"checksum": "a')
    with pytest.raises(
        FedbenchError, match=r"\.json: does not describe a data set .*; delete it, and"
    ):
        collect([SENTENCES], tmp_path)


def test_outputs_that_are_not_finite_hit_no_class_in_earlier_runs_either(tmp_path):
    run = RunSpec(rounds=2)
    history = pd.DataFrame(
        {
            "round": [1, 2],
            "loss": [2.0, float("nan")],
            "accuracy": [0.5, 0.1],
            "macro_f1": [0.4, 0.02],
            "loss[two]": [2.0, 3.0],
            "accuracy[two]": [0.6, 0.7],
        }
    )
    found = record(run, resolved=run.model_dump(mode="json"), rounds=2)
    RunFolder(tmp_path / "runs" / run.id).finish(found, history, {}, {})
    frame = collect([run], tmp_path)
    assert frame["accuracy"].tolist() == [0.5, 0.0]
    assert frame["macro_f1"].tolist() == [0.4, 0.0]
    assert frame["accuracy[two]"].tolist() == [0.6, 0.7]

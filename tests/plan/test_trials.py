"""A search that makes the trials of another method, and what else a search may say."""

import json

import pandas as pd
import pytest

from fedbench.jobs.collect import collect
from fedbench.paper.grid_points import resolve
from fedbench.paper.paper import Paper
from fedbench.paper.scale import Cut, cut
from fedbench.plan.plan import make_plan
from fedbench.plan.plan_file import PlanFile, to_json
from fedbench.plan.search import resolved, search_id, select, trial_runs, words
from fedbench.spec import RunSpec
from fedbench.store import Results
from tests.engine.records import record
from tests.project import PAPER, make_project

GRID = {"fedsam.rho": [0.01, 0.05]}
SAM = RunSpec(parts=["fedsam"], tune={"grid": GRID})
BOTH = RunSpec(parts=["fedsam", "asd"], tune={"grid": GRID, "trials": {"parts": ["fedsam"]}})

SEARCHES = PAPER.replace(
    "FedProx: {parts: [{fedprox: {mu: 0.1}}]}",
    """FedProx: {parts: [fedprox], tune: {grid: {fedprox.mu: [0, 1]}}}
    Both:
      parts: [asd, fedprox]
      tune: {grid: {fedprox.mu: [0, 1]}, trials: {parts: [fedprox]}}""",
).replace("method: [FedAvg, FedProx]}", "method: [FedProx, Both]}")


def finish(results, run, accuracy):
    history = pd.DataFrame({"round": [run.rounds], "val_accuracy": [accuracy]})
    Results(results).run(run.id).finish(record(run), history, {}, {})


def test_the_trials_are_the_very_runs_of_the_other_methods_search(tmp_path):
    assert [t.id for t in trial_runs(BOTH)] == [t.id for t in trial_runs(SAM)]
    assert [str(t.parts[0]) for t in trial_runs(BOTH)] == ["fedsam(rho=0.01)", "fedsam(rho=0.05)"]
    assert search_id(BOTH) == search_id(SAM)
    assert BOTH.id != SAM.changed(parts=["fedsam", "asd"]).id  # a search of its own is another run
    for trial, accuracy in zip(trial_runs(SAM), (0.2, 0.7), strict=True):
        finish(tmp_path, trial, accuracy)
    found = select(BOTH, tmp_path)
    assert (found["chosen"], found["parts"]) == ({"fedsam.rho": 0.05}, ["fedsam"])
    file = Results(tmp_path).winner(search_id(BOTH))
    file.parent.mkdir()
    file.write_text(json.dumps(found))
    final = resolved(BOTH, tmp_path)
    assert [str(part) for part in final.parts] == ["fedsam(rho=0.05)", "asd"]


def test_a_plan_has_one_search_for_both_methods_and_shares_its_trials(tmp_path):
    workflow = make_project(tmp_path, SEARCHES) / "workflow"
    (workflow / "papers/tiny.printed.csv").unlink()
    found = make_plan(workflow, "paper", tables=("table1",))
    # 2 methods × 2 seeds, and one search of 2 trials with seed 0
    assert (len(found.cells), len(found.trials), len(found.runs)) == (4, 1, 4 + 2)
    assert len(found.needed(found.select("tiny", "main", {"method": "Both"}))) == 2 + 2
    file = tmp_path / "plan.json"
    file.write_text(to_json(found))
    assert PlanFile(file).plan() == found


def test_trials_begin_with_the_papers_common_parts_and_are_cut_as_the_run_is():
    tune = {"grid": GRID, "trials": {"parts": ["fedsam"], "lr": 0.5}}
    both = {"parts": ["fedsam", "asd"], "rounds": 8, "tune": tune}
    paper = Paper(
        title="t", authors="a", always=["meanofall"], levels={"method": {"Both": both}},
        grids={"g": {"axes": {"method": ["Both"]}, "seeds": [0]}},
    )  # fmt: skip
    settings = resolve(paper, paper.grids["g"], {"method": "Both"})
    by = Cut(factors={"lr": 0.1}, substitutes={"parts": {"fedsam": {"fedsam": {"rho": 3}}}})
    run = RunSpec(**cut(settings, by))
    assert [str(p) for p in run.trial().parts] == ["meanofall", "fedsam(rho=3)"]
    assert (run.trial().lr, run.trial().rounds) == (0.05, 8)  # 0.5 · 0.1; the run's own 8
    assert "tune" not in cut(settings, Cut(tune=False))
    whole = {"tune": {"grid": GRID, "trials": {"lr": 1, "participation": 1}}}  # no whole numbers
    for by in (Cut(factors={"lr": 0.3}), Cut(limit={"lr": 0.3})):
        assert cut(whole, by)["tune"]["trials"] == {"lr": 0.3, "participation": 1}
    assert cut(whole, Cut(limit={"participation": 0.3}))["tune"]["trials"]["participation"] == 0.3


def test_a_scale_shortens_trials_that_are_longer_than_its_limit():
    run = {"rounds": 50, "epochs": 2, "tune": {"grid": GRID}}
    shorter = cut(run, Cut(trial_limit={"rounds": 20, "epochs": 2}))
    assert (shorter["rounds"], shorter["tune"]["trials"]) == (50, {"rounds": 20})
    assert cut(run, Cut(trial_limit={"rounds": 50}))["tune"] == {"grid": GRID}
    long = run | {"tune": {"grid": GRID, "trials": {"rounds": 500}}}
    assert cut(long, Cut(trial_limit={"rounds": 20}))["tune"]["trials"] == {"rounds": 20}
    assert cut(run, Cut(tune=False, trial_limit={"rounds": 20})) == {"rounds": 50, "epochs": 2}


def test_the_limit_of_a_case_wins_and_gives_no_run_a_search():
    short = {"where": {"epochs": [5, 10]}, "trial_limit": {"rounds": 30}}
    by = Cut(trial_limit={"rounds": 100}, cases=[short])
    run = {"rounds": 500, "tune": {"grid": GRID}}
    assert cut(run | {"epochs": 2}, by)["tune"]["trials"] == {"rounds": 100}
    assert cut(run | {"epochs": 5}, by)["tune"]["trials"] == {"rounds": 30}
    assert cut({"rounds": 500, "epochs": 5}, by) == {"rounds": 500, "epochs": 5}


def test_two_ways_to_spell_the_trials_are_one_run():
    tune = {"grid": GRID, "trials": {"parts": [{"fedsam": {}}]}}
    assert RunSpec(parts=["fedsam", "asd"], tune=tune).id == BOTH.id
    neutral = {"grid": GRID, "trials": {"parts": ["fedsam"], "momentum": 0.0}}
    assert RunSpec(parts=["fedsam", "asd"], momentum=0.9, tune=neutral).trial().momentum == 0
    assert RunSpec(**BOTH.model_dump(mode="json")) == BOTH


@pytest.mark.parametrize(
    ("tune", "sentence"),
    [
        ({"grid": {"asd.lam": [1]}, "trials": {"parts": ["fedsam"]}},
         r"'asd.lam' names no part of the search's trials, only \['fedsam'\]"),
        ({"grid": {"fedprox.mu": [1]}, "trials": {"parts": ["fedprox"]}},
         r"'fedprox.mu' names no part of the run, only \['fedsam', 'asd'\]"),
        ({"grid": {"fedsam.roh": [1]}}, "no parameter 'roh'; did you mean 'rho'"),
        ({"grid": {"roundz": [1]}}, "tune.grid: no setting 'roundz'; did you mean 'rounds'"),
        ({"grid": {"seed": [1]}}, "tune.grid: no setting 'seed'"),
        ({"grid": GRID, "trials": {"asd.lam": 0}}, "tune.trials: no setting 'asd.lam'"),
        ({"grid": GRID, "trials": {"parts": ["fedsam"], "lr": -1}}, "lr = -1 is not allowed"),
    ],
)  # fmt: skip
def test_a_search_of_what_is_not_there_is_refused(refuses, tune, sentence):
    with refuses(sentence):
        RunSpec(parts=["fedsam", "asd"], tune=tune)


def test_the_record_and_the_frame_say_which_search_and_on_which_data(tmp_path):
    assert words(BOTH) == (
        "the best of 2 by the last accuracy on held-out training data, trials of FedSAM"
    )
    shorter = SAM.changed(tune={"grid": GRID, "trials": {"rounds": 3}})
    assert words(shorter) == (
        "the best of 2 by the last accuracy on held-out training data, trials over 3 rounds"
    )
    unnamed = {"parts": [{"fedsam": {"rho": 0.07}}], "rounds": 3}
    both = BOTH.changed(tune={"grid": GRID, "trials": unnamed})
    assert words(both).endswith(", trials of fedsam(rho=0.07) over 3 rounds")
    best = SAM.changed(tune={"grid": GRID, "by": "best", "on": "test"})
    assert words(best) == "the best of 2 by the best accuracy on the test set"
    assert words(RunSpec()) == ""
    final = BOTH.changed(tune=None, **{"fedsam.rho": 0.05})
    found = record(BOTH, resolved=final.model_dump(mode="json"))
    history = pd.DataFrame({"round": [BOTH.rounds], "accuracy": [0.5]})
    Results(tmp_path).run(BOTH.id).finish(found, history, {}, {})
    row = collect([BOTH], tmp_path).iloc[0]
    assert (row["tuned"], row["search"]) == ('{"fedsam.rho": 0.05}', words(BOTH))

"""A search in two stages: all of the grid for short, then its best settings for longer."""

import json

import pandas as pd
import pytest

from fedbench.base.errors import FedbenchError
from fedbench.paper.scale import Cut, cut
from fedbench.plan.plan import make_plan
from fedbench.plan.plan_file import PlanFile, to_json
from fedbench.plan.search import resolved, search_id, select, trial_runs, words
from fedbench.plan.train_jobs import make_jobs
from fedbench.spec import RunSpec
from fedbench.store import Results
from tests.engine.records import record
from tests.project import PAPER, make_project

FIRST = {"keep": 2, "seeds": [7], "rounds": 3}
TUNE = {"grid": {"lr": [0.01, 0.1, 1.0]}, "seeds": [8, 9], "trials": {"rounds": 5}, "first": FIRST}
RUN = RunSpec(rounds=9, tune=TUNE)

STAGED = PAPER.replace(
    "FedProx: {parts: [{fedprox: {mu: 0.1}}]}",
    "FedProx: {parts: [fedprox], tune: {grid: {fedprox.mu: [0, 1, 2]}, seeds: [8, 9], "
    "first: {keep: 2, seeds: [7], rounds: 1}}}",
)


def finish(results, run, accuracy, **changes):
    history = pd.DataFrame({"round": [run.rounds], "val_accuracy": [accuracy]})
    told = record(run, **changes) | {"resolved": resolved(run, results).settings()}
    Results(results).run(run.id).finish(told, history, {}, {})


def choose(results, run):
    found = select(run, trial_runs(run), results)
    file = Results(results).winner(search_id(run))
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(found))
    return found


def test_the_best_of_a_first_stage_alone_are_tried_for_longer(tmp_path):
    longer = trial_runs(RUN)
    # two seeds times the two best of three
    assert [(x.rounds, x.seed, x.tune.rank) for x in longer] == [
        (5, 8, 0),
        (5, 8, 1),
        (5, 9, 0),
        (5, 9, 1),
    ]
    assert len({search_id(x) for x in longer} | {search_id(RUN)}) == 2
    short = trial_runs(longer[0])
    assert [(x.rounds, x.seed, x.lr, x.tune) for x in short] == [
        (3, 7, lr, None) for lr in (0.01, 0.1, 1.0)
    ]
    assert {x.validation for x in (*longer, *short)} == {0.1}
    #  lr   first stage   then, with two seeds
    # .01           .50            .6 .8: .70
    #  .1           .40                     –
    #   1           .60            .7 .5: .60
    for trial, accuracy in zip(short, (0.5, 0.4, 0.6), strict=True):
        finish(tmp_path, trial, accuracy)
    assert choose(tmp_path, longer[0])["chosen"] == {"lr": 1.0}
    assert [resolved(x, tmp_path).lr for x in longer] == [1.0, 0.01, 1.0, 0.01]
    for trial, accuracy in zip(longer, (0.7, 0.6, 0.5, 0.8), strict=True):
        finish(tmp_path, trial, accuracy)
    found = choose(tmp_path, RUN)
    assert found["trials"] == [
        {"lr": 1.0, "score": pytest.approx(0.6)},
        {"lr": 0.01, "score": pytest.approx(0.7)},
    ]
    assert (found["chosen"], found["on_edge"]) == ({"lr": 0.01}, ["lr"])
    assert resolved(RUN, tmp_path) == RunSpec(rounds=9, lr=0.01)


def test_settings_that_diverged_in_the_first_stage_go_on_last(tmp_path):
    longer = trial_runs(RUN)
    states = (("diverged", 0.9), ("finished", 0.3), ("finished", 0.5))
    for trial, (status, accuracy) in zip(trial_runs(longer[0]), states, strict=True):
        finish(tmp_path, trial, accuracy, status=status)
    choose(tmp_path, longer[0])
    assert [resolved(x, tmp_path).lr for x in longer[:2]] == [1.0, 0.1]


def test_a_plan_has_both_stages_and_their_jobs_wait_for_each_other(tmp_path):
    workflow = make_project(tmp_path, STAGED) / "workflow"
    (workflow / "papers/tiny.printed.csv").unlink()
    plan = make_plan(workflow, "paper", tables=("table1",))
    last = next(c.run_id for c in plan.cells if c.coords["method"] == "FedProx")
    first, second = plan.stages(plan.searches[last])
    assert (len(plan.trials[first]), len(plan.trials[second])) == (3, 4)
    assert plan.trials_of(last) == [*plan.trials[first], *plan.trials[second]]
    assert {plan.searches[x] for x in plan.trials[second]} == {first}
    jobs = make_jobs(plan, dict.fromkeys(plan.runs, 1.0))
    waits = {
        (job.search, job.trial) for job in jobs for run in job.runs if run in plan.trials_of(last)
    }
    assert waits == {("", True), (first, True)}
    assert {job.search for job in jobs if last in job.runs} == {second}
    assert plan.to_train("FedProx").trials == plan.trials
    file = tmp_path / "plan.json"
    file.write_text(to_json(plan))
    assert PlanFile(file).plan() == plan
    assert [x.id for x in PlanFile(file).search(second)[1]] == plan.trials[second]


def test_a_scale_that_cuts_rounds_cuts_those_of_the_first_stage():
    settings = {"rounds": 100, "tune": {"grid": {"lr": [1]}, "first": {"rounds": 25, "seeds": [1]}}}
    assert cut(settings, Cut(trial_limit={"rounds": 10}))["tune"]["first"]["rounds"] == 10
    assert cut(settings, Cut(limit={"rounds": 40}))["tune"]["first"]["rounds"] == 25


def test_words_say_both_stages():
    assert words(RUN) == (
        "the best of 3 by the last accuracy on held-out training data, "
        "trials over 3 rounds, then of the best 2 over 5 rounds"
    )


@pytest.mark.parametrize("wrong", [{"first": FIRST | {"keep": 4}}, {"first": None, "rank": 3}])
def test_more_settings_than_the_grid_has_are_refused(wrong):
    with pytest.raises(FedbenchError, match="the grid has 3 points"):
        RunSpec(tune=TUNE | wrong)

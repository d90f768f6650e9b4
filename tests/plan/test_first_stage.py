"""A search in stages: all of the grid for short, its best for longer, then around the best."""

import json

import pandas as pd
import pytest

from fedbench.base.errors import FedbenchError
from fedbench.jobs.collect import collect
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
    told = record(run, **changes) | {"resolved": resolved(run, results).model_dump(mode="json")}
    Results(results).run(run.id).finish(told, history, {}, {})


def choose(results, run):
    found = select(run, results)
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


def test_around_the_best_finer_steps_are_tried(tmp_path):
    run = RunSpec(rounds=9, tune=TUNE | {"around": {"lr": 1.78}})
    tried = trial_runs(run)
    # of each seed the two that the first stage chooses, and beside the best of them
    steps = [x.tune.times for x in tried]
    assert steps == [{}, {}, {"lr": pytest.approx(1 / 1.78)}, {"lr": 1.78}] * 2
    assert {x.id for x in trial_runs(tried[2])} < {x.id for x in tried}
    assert search_id(tried[2]) == search_id(tried[3])
    for trial, accuracy in zip(trial_runs(tried[0]), (0.5, 0.4, 0.6), strict=True):
        finish(tmp_path, trial, accuracy)
    choose(tmp_path, tried[0])
    #   lr   the seeds' accuracies
    #    1      .6  .4
    #  .01      .7  .7
    for n, accuracy in ((0, 0.6), (1, 0.7), (4, 0.4), (5, 0.7)):
        finish(tmp_path, tried[n], accuracy)
    assert choose(tmp_path, tried[2])["chosen"] == {"lr": 0.01}
    assert [resolved(x, tmp_path).lr for x in tried[2:4]] == [0.00562, 0.0178]
    for n, accuracy in ((2, 0.6), (3, 0.8), (6, 0.7), (7, 0.7)):
        finish(tmp_path, tried[n], accuracy)
    found = choose(tmp_path, run)
    assert [(x["lr"], round(x["score"], 9)) for x in found["trials"]] == [
        (1.0, 0.5),
        (0.01, 0.7),
        (0.00562, 0.65),
        (0.0178, 0.75),
    ]
    assert (found["chosen"], found["on_edge"]) == ({"lr": 0.0178}, [])
    assert resolved(run, tmp_path) == RunSpec(rounds=9, lr=0.0178)
    finish(tmp_path, run, 0.9)
    assert {*collect([run, *tried], tmp_path)["lr"]} == {1.0, 0.01, 0.00562, 0.0178}


def test_steps_around_the_best_need_no_first_stage(tmp_path):
    run = RunSpec(tune={"grid": {"lr": [0.1, 1.0, 10.0]}, "around": {"lr": 2}})
    tried = trial_runs(run)
    assert [(x.lr, x.tune is None) for x in tried[:3]] == [(0.1, True), (1.0, True), (10.0, True)]
    for trial, accuracy in zip(tried[:3], (0.5, 0.4, 0.6), strict=True):
        finish(tmp_path, trial, accuracy)
    choose(tmp_path, tried[3])
    for trial, accuracy in zip(tried[3:], (0.5, 0.7), strict=True):
        finish(tmp_path, trial, accuracy)
    found = choose(tmp_path, run)
    assert (found["chosen"], found["on_edge"]) == ({"lr": 20.0}, ["lr"])


def test_a_stage_whose_own_trial_failed_is_named(tmp_path):
    longer, failed = trial_runs(RUN), {"failed": ["one"]}
    for trial, accuracy in zip(trial_runs(longer[0]), (0.5, 0.4, 0.6), strict=True):
        finish(tmp_path, trial, accuracy)
    choose(tmp_path, longer[0])
    for trial in longer:
        finish(tmp_path, trial, 0.5)
    with pytest.raises(FedbenchError, match="an earlier stage has no winner, as its trial one"):
        select(RUN, tmp_path, {search_id(longer[0]): failed})


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
    first, second = plan.searches_of([last])
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
    assert [x.id for x in trial_runs(PlanFile(file).searched(second))] == plan.trials[second]


def test_a_scale_that_cuts_rounds_cuts_those_of_the_first_stage():
    settings = {"rounds": 100, "tune": {"grid": {"lr": [1]}, "first": {"rounds": 25, "seeds": [1]}}}
    assert cut(settings, Cut(trial_limit={"rounds": 10}))["tune"]["first"]["rounds"] == 10
    assert cut(settings, Cut(limit={"rounds": 40}))["tune"]["first"]["rounds"] == 25
    assert cut(settings, Cut(factors={"rounds": 0.4}))["tune"]["first"]["rounds"] == 10
    both = Cut(limit={"rounds": 10}, trial_limit={"rounds": 50})  # a run is no shorter than these
    assert cut(settings, both)["tune"]["first"]["rounds"] == 10


def test_words_say_both_stages():
    assert words(RUN) == (
        "the best of 3 by the last accuracy on held-out training data, "
        "trials over 3 rounds, then of the best 2 over 5 rounds"
    )


@pytest.mark.parametrize("around", [{"batch": 2}, {"parts": 2}])
def test_steps_around_need_numbers_of_the_grid(around):
    with pytest.raises(FedbenchError, match="each must be a field of the grid, all with numbers"):
        RunSpec(tune={"grid": {"lr": [1.0], "parts": ["fedavg"]}, "around": around})


def test_a_step_around_that_no_field_may_have_is_refused_before_training():
    tune = {"grid": {"participation": [0.2, 1]}, "around": {"participation": 2}}
    with pytest.raises(FedbenchError, match="participation"):
        trial_runs(RunSpec(tune=tune))


@pytest.mark.parametrize("wrong", [{"first": FIRST | {"keep": 4}}, {"first": None, "rank": 3}])
def test_more_settings_than_the_grid_has_are_refused(wrong):
    with pytest.raises(FedbenchError, match="the grid has 3 points"):
        RunSpec(tune=TUNE | wrong)

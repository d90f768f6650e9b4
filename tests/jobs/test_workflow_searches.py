"""Where a search is made again, all that waits for it is done in the same call."""

import base64

import pytest

from fedbench.jobs.status import Watcher
from fedbench.jobs.workflow_start_and_end import let_retry
from fedbench.plan.cost import Speeds
from fedbench.plan.plan_file import planned_file
from fedbench.store import Results
from tests.jobs.made_runs import SEARCHING, project
from tests.project import jobs, snakemake

END = {"collect": 1, "report": 1, "missing": 1, "track": 1, "reproduce_all": 1}


@pytest.fixture
def plan(tmp_path, write_plan):
    """A project with two searches, all trained and stamped, of which nothing is collected yet."""
    made = project(tmp_path, SEARCHING)
    write_plan(tmp_path)
    for run_id in made.runs:
        Results(tmp_path / "results").stamp(run_id).touch()
    return made


def planned(folder):
    return jobs(snakemake(folder, "-n", "reproduce_all", "--config", "scale=paper"))


def without_stamps(plan, results):
    """The runs that searches choose for are not trained yet."""
    for run_id in plan.searches:
        results.stamp(run_id).unlink()


def test_nothing_is_trained_or_chosen_again(tmp_path, plan):
    assert planned(tmp_path) == END | {"total": 5}


def test_where_there_is_no_plan_yet_nothing_is_trained_or_chosen_again_either(tmp_path, plan):
    planned_file(tmp_path / "results", "paper").unlink()  # as after `fedbench restore`
    assert planned(tmp_path) == END | {"plan": 1, "total": 6}


def test_a_choice_without_its_trials_is_shown_where_nothing_is_trained(tmp_path, plan):
    results, trials = Results(tmp_path / "results"), next(iter(plan.trials.values()))
    results.stamp(trials[0]).unlink()
    config = ("--config", "scale=paper", "train=none")
    found = jobs(snakemake(tmp_path, "-n", "reproduce_all", *config))
    assert {"collect", "report"} <= found.keys()
    assert "select" not in found


def test_a_choice_in_which_snakemake_was_killed_is_made_again_with_all_that_follows(tmp_path, plan):
    results = Results(tmp_path / "results")
    without_stamps(plan, results)
    killed = results.winner(next(iter(plan.trials))).relative_to(tmp_path)
    mark = tmp_path / ".snakemake/incomplete" / base64.b64encode(str(killed).encode()).decode()
    mark.parent.mkdir(parents=True)
    mark.touch()
    found = planned(tmp_path)
    assert found["select"] == 1
    assert found.items() >= END.items()
    assert sum(name.startswith("train") for name in found) == 2  # one job per search


@pytest.mark.parametrize("stamped", [True, False])
def test_with_a_failed_trial_the_runs_that_waited_for_it_are_tried_again(tmp_path, plan, stamped):
    results = Results(tmp_path / "results")
    search, trials = next(iter(plan.trials.items()))
    waiting = [run_id for run_id, its in plan.searches.items() if its == search]
    for run_id in (trials[0], *waiting):
        failed = results.run(run_id).path
        (failed / "run.json").unlink()
        (failed / "error.txt").write_text("no memory\n")
    if not stamped:
        without_stamps(plan, results)
    seen = Watcher(plan, results.root, Speeds({})).look()
    assert set(seen.failed) == {trials[0], *waiting}
    let_retry(plan, seen, results.root)
    found = planned(tmp_path)
    assert found["select"] == 1
    assert found.items() >= END.items()
    assert sum(name.startswith("train") for name in found) >= 2  # the trial's job and the runs'

"""What a finished build says of itself."""

from fedbench.plan.cost import summary
from fedbench.plan.plan import make_plan
from tests.project import make_project


def test_runs_of_two_tables_are_counted_once_as_shared(tmp_path):
    # main: 2 methods × 2 seeds; 'again' is FedAvg with seed 0, one of them; fig1 shows main
    plan = make_plan(make_project(tmp_path) / "workflow", "paper")
    assert len(plan.runs) == 4
    assert summary(plan, {}).startswith("4 runs, 4 of them in several")
    only = make_plan(tmp_path / "workflow", "paper", tables=("table1", "table2"))
    assert summary(only, {}).startswith("4 runs, 1 of them in several")


def test_a_build_with_nothing_to_do_says_so(tmp_path):
    plan = make_plan(make_project(tmp_path) / "workflow", "paper")
    assert summary(plan, {}).endswith("nothing was left to do.")


def test_the_seconds_and_jobs_of_each_rule_are_told(tmp_path):
    plan = make_plan(make_project(tmp_path) / "workflow", "paper")
    told = summary(plan, {"data": [5.0], "train": [70.0, 70.4]})
    assert told.endswith("Rules, seconds and jobs: data 5 s in 1, train 140 s in 2.")

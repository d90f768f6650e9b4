"""What a finished build says of itself, from a log written by hand."""

from fedbench.plan.cost import rules, summary
from fedbench.plan.plan import make_plan
from tests.project import make_project

LOG = """
[Sat Nov 21 07:29:48 2026]
localrule data:
    jobid: 3
[Sat Nov 21 07:29:50 2026]
localrule train_0:
    output: results/runs/a/.done
    jobid: 4
[Sat Nov 21 07:29:53 2026]
Finished jobid: 3 (Rule: data)
rule train_1:
    jobid: 5
[Sat Nov 21 07:31:00 2026]
Finished jobid: 4 (Rule: train_0)
[Sat Nov 21 07:31:03 2026]
Finished jobid: 5 (Rule: train_1)
localrule reproduce_all:
    jobid: 0
[Sat Nov 21 07:31:03 2026]
Finished jobid: 0 (Rule: reproduce_all)
"""


def test_seconds_are_counted_from_a_jobs_start_to_its_end():
    # data 48 → 53; train_0 from 29:50 to 31:00, train_1 from 29:53 to 31:03
    assert rules(LOG) == [("data", 1, 5.0), ("train", 2, 140.0)]


def test_runs_of_two_tables_are_counted_once_as_shared(tmp_path):
    # main: 2 methods × 2 seeds; 'again' is FedAvg with seed 0, one of them; fig1 shows main
    plan = make_plan(make_project(tmp_path) / "workflow", "paper")
    assert len(plan.runs) == 4
    assert summary(plan, LOG).startswith("4 runs, 4 of them in several")
    only = make_plan(tmp_path / "workflow", "paper", tables=("table1", "table2"))
    assert summary(only, LOG).startswith("4 runs, 1 of them in several")


def test_a_build_with_nothing_to_do_says_so(tmp_path):
    plan = make_plan(make_project(tmp_path) / "workflow", "paper")
    assert summary(plan, "").endswith("nothing was left to do.")

"""Whether runs learn, by hand: chance, FedAvg in mild settings, methods against seeds."""

import pandas as pd
import pytest

from fedbench.plan.plan import make_plan
from fedbench.report.learning_check import Learning, TableLearning, judge
from fedbench.store import Results, write_frame
from tests.project import PAPER, PRINTED, make_project

SKEWED = PAPER.replace("alpha: [1]", "alpha: [1, 0.1]")


def judged(folder, accuracy, paper=SKEWED, printed=PRINTED):
    """A project whose runs have the accuracy `accuracy(run)` in round 1, then half of it."""
    make_project(folder, paper, printed)
    plan = make_plan(folder / "workflow", "paper")
    frame = pd.DataFrame(
        {
            "run_id": run_id,
            "status": "finished",
            "round": round_,
            "rounds": 2,
            "eval_every": 1,
            "accuracy": accuracy(run) / round_,
        }
        for run_id, run in plan.runs.items()
        for round_ in (1, 2)
    )
    write_frame(frame, Results(folder / "results").frame("paper", "tiny"))
    return plan, folder / "results"


def test_a_partition_at_its_defaults_is_as_skewed_as_these_say(tmp_path):
    # dr has α = 0.1 by default: FedAvg's runs there are not mild
    plain = SKEWED.replace(
        "{each: {partition: {dr: {alpha: $}}}}",
        "{1: {partition: {dr: {alpha: 1}}}, 0.1: {partition: dr}}",
    )
    plan, results = judged(tmp_path, lambda run: 0.5 if run.partition.params else 0.2, plain)
    assert judge(plan, results).tables[0].best == pytest.approx(0.5)


def ahead(run):
    """FedAvg at alpha = 1 has 50 and 52 % with seeds 0 and 1, all others have 20 %."""
    return 0.2 if run.parts or run.partition.params["alpha"] < 1 else 0.5 + 0.02 * run.seed


def test_fedavg_in_mild_settings_is_compared_with_chance(tmp_path):
    plan, results = judged(tmp_path, ahead)
    found = judge(plan, results)
    table = found.tables[0]
    assert (table.name, table.judged_by) == ("tiny/table1", "FedAvg")
    assert table.best == pytest.approx(0.51)  # the best round is the first
    assert table.guess == pytest.approx(36 / 355)  # of digits' test images show the commonest
    assert table.wanted == pytest.approx(36 / 355 + 0.2)
    assert found.weak == []


def test_methods_are_compared_with_seeds(tmp_path):
    # at alpha = 1 the methods' means are 51 and 20 %, at 0.1 both are 20 %: variances 480.5 and 0
    plan, results = judged(tmp_path, ahead)
    table = judge(plan, results).tables[0]
    assert table.methods == pytest.approx((480.5 / 2) ** 0.5)
    # the seeds of FedAvg differ by 2 points, a variance of 2; those of the others do not
    assert table.seeds == pytest.approx(((2 / 2 + 0) / 2) ** 0.5)
    assert table.tells_methods_apart


def test_tables_of_one_seed_say_nothing_of_methods_and_seeds():
    one = TableLearning("one", "FedAvg", 0.9, 0.1, 0.3, methods=5.0, seeds=None)
    ahead, behind = one._replace(seeds=4.0), one._replace(seeds=6.0)
    for tables, apart, holds in [
        ([one, one], [], True),
        ([one, ahead, behind], [True, False], True),
        ([one, behind], [False], False),
    ]:
        found = Learning(tables, 10, [])
        assert (found.apart, found.holds) == (apart, holds)


def test_without_mild_settings_all_runs_are_judged(tmp_path):
    skewed = PAPER.replace("alpha: [1]", "alpha: [0.1]").replace("alpha: 1}", "alpha: 0.1}")
    printed = PRINTED.replace("alpha=1", "alpha=0.1")
    plan, results = judged(tmp_path, lambda run: 0.14, skewed, printed)
    found = judge(plan, results)
    table = found.tables[0]
    assert table.judged_by == "all methods, skewed"
    assert table.wanted == pytest.approx(36 / 355 + 0.05)  # a quarter of the gain
    assert table.name in found.weak
    assert not table.tells_methods_apart


def test_runs_that_end_within_five_points_of_guessing_are_near_it(tmp_path):
    # the last round has half of the best: 16 and 14 %
    plan, results = judged(tmp_path, lambda run: 0.32 if run.parts else 0.28)
    found = judge(plan, results)
    assert found.runs == 8
    assert sorted(found.near_chance) == sorted(
        key for key, run in plan.runs.items() if not run.parts
    )


def test_without_results_there_is_nothing_to_judge(tmp_path):
    make_project(tmp_path)
    plan = make_plan(tmp_path / "workflow", "paper")
    assert judge(plan, tmp_path / "results") == Learning([], 0, [])

"""What the files of RMFL and FedDPC must keep true of themselves: steps, seeds, shared runs."""

from functools import cache

import pytest

from fedbench.base.yamlfile import read_yaml
from fedbench.paper.paper import Paper
from fedbench.paper.printed_numbers import Printed, read_printed
from fedbench.report.tables.facts import fact_table
from fedbench.report.tables.gather_cells import table_cells
from fedbench.report.values.collected_frames import read
from tests.paper.published import WORKFLOW, cells, papers, plan

NOTHING = read(WORKFLOW / "no such file")
NONE = Printed(WORKFLOW / "none.csv", {})
PAPERS = ("feddpc", "rmfl")


def runs(grid: str, **where):
    return [cell.run for paper in PAPERS for cell in plan().select(paper, grid, where)]


@cache
def weights():
    """The rows of the table of gradients' weights: all clients of Table I are dealt for it."""
    return [row.values for row in fact_table("weights", papers()["rmfl"], NONE).rows]


def test_fig3_is_drawn_at_the_local_steps_of_table_1():
    paper = papers()["rmfl"]
    counted = {values[1] for values in weights()}
    assert sorted(paper.figures["fig3_table1"].kind.params["steps"]) == sorted(counted)


def test_under_r1_the_last_gradient_counts_more_than_the_first_in_all_of_table_1():
    for values in weights():
        first, last, _ = values[5:8]
        assert first == "0.090"
        assert float(last) > 0.09


def test_fedavg_as_a_control_steps_as_far_as_mfl():
    (rate,) = {run.lr for run in runs("drift", method="FedAvg, rate η/(1−β)")}
    mfl = runs("drift", method="MFL")[0]
    assert rate == pytest.approx(mfl.lr / (1 - mfl.parts[0].params["beta"]))


def test_points_of_fig_7_that_are_another_run_share_it():
    at = {"alpha": 0.2}
    of = {
        name: {run.id for run in runs("lambdas", **at, scaling=scaling, lam=lam)}
        for name, scaling, lam in (
            ("add, 1", "λ + |Δ|/|r|", 1), ("mult, 1", "1 + λ|Δ|/|r|", 1),
            ("add, 0", "λ + |Δ|/|r|", 0), ("mult, 0", "1 + λ|Δ|/|r|", 0),
            ("ratio, 0", "|Δ|/(|r| + λ)", 0), ("gain, 0", "λ|Δ|/|r|", 0),
            ("gain, 1", "λ|Δ|/|r|", 1),
        )
    }  # fmt: skip
    assert of["add, 1"] == of["mult, 1"] == {r.id for r in runs("ablation", **at, method="FedDPC")}
    projected = runs("ablation", **at, method="FedDPC (projection only)")
    assert of["mult, 0"] == {run.id for run in projected}
    assert of["add, 0"] == of["ratio, 0"] == of["gain, 1"]
    assert of["gain, 0"] == set()
    # λ = 1 of mult, λ = 0 of ratio and λ = 1 of gain are runs of add; gain has none at λ = 0
    assert len({run.id for run in runs("lambdas", **at)}) == 3 * (8 + 7 + 7 + 6)


def test_each_scaling_is_the_one_its_name_says():
    names = {"λ + |Δ|/|r|": "add", "1 + λ|Δ|/|r|": "mult", "λ|Δ|/|r|": "gain"}
    names["|Δ|/(|r| + λ)"] = "ratio"
    for label, name in names.items():
        for run in runs("lambdas", scaling=label, lam=-2):
            assert run.parts[0].params["scaling"] == name
            assert run.parts[0].params["lam"] == -2


def test_feddpc_is_searched_by_the_best_round_and_rmfl_by_the_mean():
    assert {(r.tune.by, r.tune.on) for r in runs("table2_seeds")} == {("best", "held-out")}
    tuned = [run for grid in ("epochs", "alldata") for run in runs(grid)]
    assert {(run.tune.by, run.tune.on) for run in tuned} == {("mean", "held-out")}


def test_printed_numbers_stand_beside_the_table_with_more_seeds():
    printed = read_printed(WORKFLOW / "papers/feddpc.printed.csv")
    one, three = (
        {str(e.coords): e.printed.mean
         for e in table_cells(plan(), ("feddpc", key), NOTHING, printed) if e.printed}
        for key in ("table2", "table2_seeds")
    )  # fmt: skip
    assert len(one) == 6 * 6
    assert three == one


def test_a_table_that_borrows_from_none_is_refused(refuses):
    plain = read_yaml(WORKFLOW / "papers/feddpc.yaml")
    plain["tables"]["table2_seeds"]["printed"] = "tabel2"
    with refuses(r"tables\.table2_seeds\.printed: .*'tabel2'.*table2"):
        Paper(**plain)


def test_only_runs_that_are_read_are_watched():
    read = {
        run.id
        for grid in ("drift", "drift_rates", "drift_epochs", "ablation")
        for run in runs(grid)
    }
    needed = plan().needed(cell for paper in PAPERS for cell in cells(paper))
    assert {run_id for run_id in needed if plan().runs[run_id].watch} <= read

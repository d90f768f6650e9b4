"""Which runs are trained, and what of the others is shown."""

import pytest

from fedbench.plan.cost import Speeds
from fedbench.plan.plan import make_plan
from fedbench.plan.workflow_paths import WorkflowPaths
from fedbench.store import Results
from tests.jobs.made_runs import SEARCHING
from tests.project import PRINTED, make_project


@pytest.fixture
def plan(tmp_path):
    """FedAvg and FedProx with two seeds, a search of two trials each, and FedAvg once without."""
    return make_plan(make_project(tmp_path, SEARCHING) / "workflow", "paper")


def test_all_and_none(plan):
    assert plan.to_train("all") is plan
    none = plan.to_train("none")
    assert (none.cells, none.runs, none.trials) == ([], {}, {})
    assert none.papers == plan.papers


def test_a_method_brings_its_runs_and_its_search_alone(plan):
    of_prox = plan.to_train("FedProx")
    assert len(plan.runs) == 9
    assert len(of_prox.runs) == 2 + 2
    assert all("fedprox" in run_id for run_id in of_prox.runs)
    assert [*of_prox.trials] == [*of_prox.searches.values()][:1]
    assert plan.to_train("FedProx, FedAvg").runs.keys() == plan.runs.keys()


def test_a_name_may_have_commas(tmp_path):
    paper = SEARCHING.replace("FedProx", '"FedAvg, momentum 0.9"')
    header = PRINTED.splitlines()[0]
    plan = make_plan(make_project(tmp_path, paper, header) / "workflow", "paper")
    assert len(plan.to_train("FedAvg, momentum 0.9").runs) == 2 + 2
    assert plan.to_train("FedAvg, FedAvg, momentum 0.9").runs.keys() == plan.runs.keys()


def test_a_method_that_is_not_there_is_one_sentence(plan, refuses):
    with refuses("no method in this plan 'FedPrix'; did you mean 'FedProx'?"):
        plan.to_train("FedPrix")


def test_a_paper_waits_for_runs_that_are_trained_or_there(plan, tmp_path):
    results = tmp_path / "results"
    there = next(cell.run_id for cell in plan.cells if cell.coords["method"] == "FedAvg")
    paths = WorkflowPaths(plan, plan.to_train("FedProx"), results, tmp_path)
    prox = {cell.run_id for cell in plan.cells if cell.coords["method"] == "FedProx"}
    assert paths.runs("tiny").keys() == prox
    Results(results).stamp(there).parent.mkdir(parents=True)
    Results(results).stamp(there).touch()
    assert paths.runs("tiny").keys() == {*prox, there}
    assert all("fedprox" in run_id for job in paths.jobs(1, 2, Speeds()) for run_id in job.runs)
    nothing = WorkflowPaths(plan, plan.to_train("none"), tmp_path / "empty", tmp_path)
    assert nothing.jobs(1, 2, Speeds()) == []
    assert nothing.runs("tiny") == {}
    assert nothing.data_of("tiny") == []

"""`fedbench status` and `fedbench learned`, as a user types them."""

import json

import pytest

from fedbench.cli import plan_and_status
from fedbench.plan.plan import make_plan
from fedbench.plan.plan_file import write_plan
from fedbench.store import Results, note_failure, run_states, signs_of_life
from tests.jobs.four_runs import IDS, finish, plan
from tests.project import make_project


@pytest.fixture
def results(tmp_path):
    """A plan of four runs, of which one is finished."""
    folder = tmp_path / "results"
    write_plan(plan(one=tuple(IDS[:3]), two=tuple(IDS[2:])), folder)
    finish(folder, IDS[0], 3.0)
    return folder


def test_each_paper_has_a_line_and_failed_runs_are_named(cli, results):
    note_failure(Results(results).run(IDS[1]), ValueError("no memory"))
    with signs_of_life(Results(results).run(IDS[2])):
        said = cli("status", "--results", results).output
    assert "together" in said
    assert f"running: {IDS[2]}, round 0" in said
    assert f"failed: {IDS[1]}: ValueError: no memory" in said


def test_a_scale_at_which_nothing_was_started_is_refused_with_those_that_were(cli, results):
    done = cli("status", "--results", results, "--scale", "cpu")
    assert done.exit_code == 2
    assert "runs were started at demo: name one with --scale" in " ".join(done.output.split())


def test_a_program_reads_the_same_numbers(cli, results):
    facts = json.loads(cli("status", "--results", results, "--json").output)
    assert facts["all"]["finished"] == 1
    assert facts["all"]["waiting"] == 3
    assert facts["all"]["seconds_per_run"] == 3.0
    assert facts["papers"]["two"]["waiting"] == 2


def test_it_looks_until_no_run_is_left(cli, results, monkeypatch):
    rest = iter(IDS[1:])
    monkeypatch.setattr(plan_and_status.time, "sleep", lambda _: finish(results, next(rest), 1.0))
    lines = cli("status", "--results", results, "--json", "--watch").output.splitlines()
    assert [json.loads(line)["all"]["finished"] for line in lines] == [1, 2, 3, 4]


def test_it_goes_on_looking_while_the_last_run_is_saved(cli, results, monkeypatch):
    # its last round is reported, so that no seconds are left, but its folder is not finished yet
    for each in IDS[1:3]:
        finish(results, each, 1.0)
    monkeypatch.setattr(run_states, "_PAUSE", 0)
    with signs_of_life(Results(results).run(IDS[3])) as beat:
        beat(10)
        monkeypatch.setattr(plan_and_status.time, "sleep", lambda _: finish(results, IDS[3], 1.0))
        lines = cli("status", "--results", results, "--json", "--watch").output.splitlines()
    assert [json.loads(line)["all"]["finished"] for line in lines] == [3, 4]


def test_without_a_plan_it_says_how_to_make_one(cli, tmp_path):
    done = cli("status", "--results", tmp_path)
    assert done.exit_code == 2
    assert "fedbench plan --write" in done.output.replace("\n", " ")


def test_missing_names_failed_runs_of_the_methods_that_were_to_be_trained(cli, tmp_path):
    folder = make_project(tmp_path) / "workflow"
    plan = make_plan(folder, "paper")
    write_plan(plan, tmp_path / "results")
    cell = next(cell for cell in plan.cells if cell.coords["method"] == "FedProx")
    note_failure(Results(tmp_path / "results").run(cell.run_id), ValueError("no memory"))
    asked = ["--scale", "paper", "--results", tmp_path / "results"]
    done = cli("missing", *asked)
    assert done.exit_code == 2
    assert f"{cell.run_id}: ValueError: no memory (traceback: " in done.output
    assert cli("missing", *asked, "--train", "FedAvg").exit_code == 0
    assert cli("missing", *asked, "--train", "FedProx").exit_code == 2
    assert cli("missing", *asked, "--train", "none").exit_code == 0


def test_learned_judges_nothing_before_a_run_is_there(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(make_project(tmp_path))
    done = cli("learned", "--scale", "paper")
    assert done.exit_code == 2
    assert "no collected run of 'paper' has an accuracy" in done.output


def test_a_scale_without_collected_runs_is_told_those_that_have_some(cli, results):
    (results / "demo/tiny.parquet").touch()
    done = cli("compare", results / "cpu", results / "demo")
    assert done.exit_code == 2
    said = f"{results}/cpu: there is no such folder; collected here: {results}/demo"
    assert said in done.output.replace("\n", "")


def test_what_is_copied_is_told_beside_what_the_papers_plan(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(make_project(tmp_path))
    write_plan(make_plan(tmp_path / "workflow", "paper"), tmp_path / "results")
    monkeypatch.setattr("fedbench.jobs.mlflow.mirror", lambda *_: 3)
    done = cli("track", "--scale", "paper")
    assert "3 runs added to MLflow, of 4 planned by tiny" in done.output

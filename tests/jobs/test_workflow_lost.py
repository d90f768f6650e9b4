"""A finished run whose record was deleted is trained again by the same command, given once."""

import os
import shutil

from fedbench.plan.cost import Speeds
from fedbench.plan.workflow_paths import WorkflowPaths
from fedbench.store import Results, note_failure
from tests.jobs.conftest import CONFIG, RESULTS
from tests.jobs.made_runs import project
from tests.project import jobs, snakemake

ALL = ("reproduce_all", *CONFIG)


def written(folder):
    """When each file and folder of the results was written; logs of Snakemake aside."""
    return {file: file.stat().st_mtime_ns for file in (folder / RESULTS).rglob("*")}


def lose(results, run_id):
    """Delete the record of a run that has a stamp."""
    (results.run(run_id).path / "run.json").unlink()


def test_a_run_with_a_stamp_and_no_record_is_lost_unless_it_failed(tmp_path):
    plan, results = project(tmp_path), Results(tmp_path / "results")
    lost, failed, *others = plan.runs
    for run_id in plan.runs:
        results.stamp(run_id).touch()
        os.utime(results.stamp(run_id), (1_000, 1_000))
    for run_id in (lost, failed):
        lose(results, run_id)
    note_failure(results.run(failed), ValueError("no memory"))
    paths = WorkflowPaths(plan, plan, results.root, tmp_path)
    assert paths.lost() == [lost]
    assert paths.unrecorded == {lost, failed}
    (job,) = paths.jobs(0, 1, Speeds())
    assert paths.is_left(job)
    folders = {results.run(run_id).path for run_id in (lost, failed)}
    assert {*paths.again(job)} == folders
    assert results.run(lost).path.stat().st_mtime > results.stamp(lost).stat().st_mtime
    for run_id in (lost, failed):
        (results.run(run_id).path / "run.json").touch()
    assert not WorkflowPaths(plan, plan, results.root, tmp_path).is_left(job)
    results.stamp(others[0]).unlink()
    assert WorkflowPaths(plan, plan, results.root, tmp_path).is_left(job)


def test_a_run_that_is_not_to_be_trained_is_not_asked_for(tmp_path):
    plan, results = project(tmp_path), Results(tmp_path / "results")
    lost = next(iter(plan.runs))
    results.stamp(lost).touch()
    lose(results, lost)
    paths = WorkflowPaths(plan, plan.to_train("none"), results.root, tmp_path)
    assert paths.lost() == []
    assert paths.unrecorded == set()


def test_one_command_trains_it_and_makes_all_that_follows_anew(built, tmp_path):
    folder = shutil.copytree(built, tmp_path / "copy")
    results = Results(folder / RESULTS)
    lost = next(file.parent for file in results.records() if "s0" in file.parent.name)
    frame = results.frame("paper", "tiny")
    said = f"since their run.json was deleted:\n  {lost.name}\n"
    for without_frame in (False, True):
        (lost / "run.json").unlink()
        if without_frame:
            frame.unlink()
        before = written(folder)
        planned = snakemake(folder, "-n", *ALL)
        assert {"collect", "report"} <= jobs(planned).keys()
        assert any(name.startswith("train") for name in jobs(planned))
        assert said in planned.stderr
        assert written(folder) == before  # a dry run leaves no trace
        assert said in snakemake(folder, *ALL).stderr
        assert (lost / "run.json").exists()
        assert frame.exists()
        assert jobs(snakemake(folder, "-n", *ALL)) == {}


def test_whatever_of_a_finished_workflow_was_deleted_is_made_anew(built, tmp_path):
    folder = shutil.copytree(built, tmp_path / "copy")
    results = Results(folder / RESULTS)
    run = next(file.parent for file in results.records() if "s0" in file.parent.name)
    facts = results.facts()[0]
    for lost, wanted in (
        (facts, {"data", "collect", "report"}),
        (run / ".done", {"train", "collect", "report"}),
        (run, {"train", "collect", "report"}),
        (results.root / "data", {"data", "collect", "report"}),
    ):
        lost.rename(aside := tmp_path / "aside")
        planned = {name.partition("_")[0] for name in jobs(snakemake(folder, "-n", *ALL))}
        assert planned & {"data", "train", "collect", "report"} == wanted
        aside.rename(lost)
    shutil.rmtree(run)
    facts.unlink()
    snakemake(folder, *ALL)
    assert (run / "run.json").exists()
    assert facts.exists()
    assert jobs(snakemake(folder, "-n", *ALL)) == {}


def test_printed_numbers_that_were_deleted_are_shown_no_more(built, tmp_path):
    folder = shutil.copytree(built, tmp_path / "copy")
    (folder / "workflow/papers/tiny.printed.csv").unlink()
    assert "report" in jobs(snakemake(folder, "-n", *ALL))

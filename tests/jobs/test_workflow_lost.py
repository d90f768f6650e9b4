"""A finished run whose record was deleted is trained again by the same command, given once."""

import shutil

from fedbench.plan.outdated import ask_again
from fedbench.plan.wanted import wanted
from fedbench.plan.workflow import WorkflowPaths
from fedbench.store import Results, note_failure
from tests.jobs.conftest import CONFIG, RESULTS
from tests.jobs.made_runs import project
from tests.project import jobs, snakemake

ALL = ("reproduce_all", *CONFIG)


def test_a_run_with_a_stamp_and_no_record_is_asked_for_unless_it_failed(tmp_path):
    plan, results = project(tmp_path), Results(tmp_path / "results")
    lost, failed, *others = plan.runs
    for run_id in plan.runs:
        results.stamp(run_id).touch()
    for run_id in (lost, failed):
        (results.run(run_id).path / "run.json").unlink()
    note_failure(results.run(failed), ValueError("no memory"))
    assert WorkflowPaths(plan, results.root, tmp_path).reopen() == [lost]
    assert results.retry(lost).exists()
    assert not any(results.retry(run_id).exists() for run_id in (failed, *others))


def test_a_run_that_is_not_to_be_trained_is_not_asked_for(tmp_path):
    plan, results = project(tmp_path), Results(tmp_path / "results")
    lost = next(iter(plan.runs))
    results.stamp(lost).touch()
    (results.run(lost).path / "run.json").unlink()
    none = wanted(plan, "none")
    assert WorkflowPaths(plan, results.root, tmp_path, trained=none).reopen() == []
    assert not results.retry(lost).exists()


def test_a_run_is_asked_for_in_other_words_each_time(tmp_path):
    """Snakemake takes an input for unchanged that has the content that it had the last time."""
    mark = tmp_path / ".retry"
    ask_again(mark)
    first = mark.read_text()
    ask_again(mark)
    assert mark.read_text() != first


def test_one_command_trains_it_and_makes_all_that_follows_anew(built, tmp_path):
    folder = shutil.copytree(built, tmp_path / "copy")
    results = Results(folder / RESULTS)
    lost = next(file.parent for file in results.records() if "s0" in file.parent.name)
    mark, frame = results.retry(lost.name), results.frame("paper", "tiny")
    said = f"since their run.json was deleted:\n  {lost.name}\n"
    for without_frame in (False, True):
        (lost / "run.json").unlink()
        if without_frame:
            frame.unlink()
        before = mark.read_text() if mark.exists() else ""
        planned = snakemake(folder, "-n", *ALL)
        assert {"collect", "report"} <= jobs(planned).keys()
        assert any(name.startswith("train") for name in jobs(planned))
        assert said in planned.stderr
        assert before == (mark.read_text() if mark.exists() else "")  # a dry run leaves no trace
        assert said in snakemake(folder, *ALL).stderr
        assert (lost / "run.json").exists()
        assert frame.exists()
        assert jobs(snakemake(folder, "-n", *ALL)) == {}

"""A folder that a killed workflow left is freed and tidied; one in which a workflow runs is not."""

import multiprocessing
import os
import time

import pytest

from fedbench.base.files import atomic, begins
from fedbench.jobs.workflow_start_and_end import claim, hold, tidy, unlock
from tests.project import ROOT, make_project, snakemake

FORK = multiprocessing.get_context("fork")


@pytest.fixture
def locked(tmp_path):
    lock = tmp_path / ".snakemake/locks/0.output.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("results/demo/plan.json\n")
    return tmp_path


def run_for_ever(folder, line):
    hold(folder)
    line.send("running")
    time.sleep(60)


@pytest.fixture
def workflow(locked):
    mine, its = FORK.Pipe()
    process = FORK.Process(target=run_for_ever, args=(locked, its))
    process.start()
    mine.recv()
    yield process
    process.kill()
    process.join()


def test_a_running_workflow_keeps_its_lock(refuses, locked, workflow):
    with refuses(rf"a workflow runs here, as process {workflow.pid} of .*stop it with Ctrl-C"):
        unlock(locked)
    assert list(locked.glob(".snakemake/locks/*"))


def test_the_lock_of_a_killed_one_goes(locked, workflow):
    workflow.kill()
    workflow.join()
    assert unlock(locked)
    assert not (locked / ".snakemake/locks").exists()
    assert not list(locked.glob(".snakemake/fedbench/*"))
    assert not unlock(locked)


def test_the_command_says_what_it_did(cli, locked):
    assert "the folder is free" in cli("unlock", locked).output
    assert "the folder was not locked" in cli("unlock", locked).output


def begin_and_wait(file, line):
    with atomic(file) as temporary:
        line.send(temporary)
        time.sleep(60)


@pytest.fixture
def writing():
    """`writing(file)`: a process that never ends writing the file, and its temporary file."""
    started = []

    def start(file):
        mine, its = FORK.Pipe()
        started.append(FORK.Process(target=begin_and_wait, args=(file, its)))
        started[-1].start()
        return started[-1], mine.recv()

    yield start
    for process in started:
        process.kill()
        process.join()


@pytest.mark.parametrize("place", ["results/demo/plan.json", "reports/demo/a/b.svg"])
def test_what_a_killed_process_wrote_in_part_goes(tmp_path, writing, place):
    process, part = writing(tmp_path / place)
    tidy(tmp_path / "results", tmp_path / "reports")
    assert part.exists()  # its process lives
    process.kill()
    process.join()
    tidy(tmp_path / "results", tmp_path / "reports")
    assert list(part.parent.iterdir()) == []


def test_a_process_that_began_after_a_file_did_not_write_it(tmp_path):
    part = tmp_path / f"results/demo/{begins('plan.json')}abc.part"  # with this process's number
    part.parent.mkdir(parents=True)
    part.touch()
    tidy(tmp_path / "results", tmp_path / "reports")
    assert part.exists()
    os.utime(part, (0, 0))
    tidy(tmp_path / "results", tmp_path / "reports")
    assert not part.exists()


def test_the_folders_of_runs_and_of_other_machines_processes_are_left_alone(tmp_path, writing):
    process, part = writing(tmp_path / "results/runs/r1/run.json")
    process.kill()
    process.join()
    foreign = tmp_path / f"results/demo/.plan.json.{process.pid}@elsewhere.abc.part"
    foreign.parent.mkdir()
    foreign.touch()
    tidy(tmp_path / "results", tmp_path / "reports")
    assert part.exists()
    assert foreign.exists()


def claim_for_ever(folder, line):
    claim(folder, folder / "reports", "paper")
    line.send("running")
    time.sleep(60)


def test_two_workflows_do_not_write_the_same_plan(refuses, tmp_path):
    mine, its = FORK.Pipe()
    process = FORK.Process(target=claim_for_ever, args=(tmp_path, its))
    process.start()
    mine.recv()
    with refuses("paper: a workflow that was started in another folder writes there; wait until"):
        claim(tmp_path, tmp_path / "reports", "paper")
    project = tmp_path / "project"
    project.mkdir()
    done = snakemake(
        make_project(project), f"{tmp_path}/paper/tiny.parquet",
        "--config", "scale=paper", f"results={tmp_path}", check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "wait until it has ended, or have other results with --config" in done.stderr
    process.kill()
    process.join()
    claim(tmp_path, tmp_path / "reports", "paper")


def test_no_rule_writes_its_output_by_the_shell():
    # which leaves what a killed process has not written to its end, under a name nobody deletes
    texts = [rules.read_text() for rules in (ROOT / "workflow/rules").glob("*.smk")]
    assert any("> {log:q}" in text for text in texts)
    assert not any("> {output" in text for text in texts)

"""A folder that a killed workflow left locked is freed; one in which a workflow runs is not."""

import multiprocessing
import time

import pytest

from fedbench.jobs.folder import hold, unlock

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

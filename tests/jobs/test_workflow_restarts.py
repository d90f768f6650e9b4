"""A workflow that is killed, meets damaged files and is called again trains no run twice."""

import os
import re
import shutil
import signal
from types import SimpleNamespace

import pandas as pd
import pytest

from fedbench.base.errors import FedbenchError
from fedbench.jobs.workflow_start_and_end import LOCKED, unlock
from fedbench.plan.plan import make_plan
from tests.jobs.conftest import CONFIG, REPORTS, RESULTS, WHOLE
from tests.jobs.started import started, where_it_reads
from tests.project import snakemake

FRAME = f"{RESULTS}/paper/tiny.parquet"
TABLE = f"{REPORTS}/paper/tables/tiny/table1.csv"
FIGURE = f"{REPORTS}/paper/figures/tiny/fig2.svg"
NOTHING_MISSING = f"{RESULTS}/paper/nothing-missing"  # made last; fails if runs have failed
ASKED = (TABLE, NOTHING_MISSING, *CONFIG)


def times(folder):
    """When each finished run was finished, by its id."""
    return {
        file.parent.name: file.stat().st_mtime_ns
        for file in (folder / RESULTS / "runs").glob("*/run.json")
    }


def shown(folder):
    """The files of the report and the text of the paper's page."""
    report = folder / REPORTS / "paper"
    files = {file.relative_to(report).as_posix() for file in report.rglob("*")}
    return SimpleNamespace(files=files, page=(report / "tiny.html").read_text())


@pytest.fixture(scope="module")
def story(built, tmp_path_factory):
    """The project with two more seeds: killed within the new runs, then a damaged checkpoint; with
    that mended a damaged file that only a figure reads; then all is whole. Gives which runs were
    finished when, what was said, and what the report showed."""
    folder = tmp_path_factory.mktemp("again") / "o'brien & sons"
    shutil.copytree(built, folder)
    longer = WHOLE.replace("seeds: [0, 1]", "seeds: [0, 1, 2, 3]")
    (folder / "workflow/papers/tiny.yaml").write_text(longer)
    old = times(folder)
    new = [run for run in make_plan(folder / "workflow", "paper").runs if run not in old]
    checkpoint = folder / RESULTS / "runs" / new[1] / "checkpoint.pt"
    checkpoint.parent.mkdir()
    os.mkfifo(checkpoint)
    with started(folder, TABLE, *CONFIG) as process, where_it_reads(checkpoint, process):
        assert process.poll() is None, "Snakemake ended before it came to this run"
        with pytest.raises(FedbenchError, match=f"a workflow runs here, as process {process.pid}"):
            unlock(folder)
        os.killpg(process.pid, signal.SIGKILL)
    killed = times(folder)
    checkpoint.unlink()
    checkpoint.write_bytes(b"half a checkpoint")
    locked_call = snakemake(folder, *ASKED, check=False)
    freed = unlock(folder)
    failed_call = snakemake(folder, *ASKED, check=False)
    failed = times(folder)
    table = pd.read_csv(folder / TABLE)
    error = checkpoint.with_name("error.txt")
    reason = error.read_text()
    blamed = {file.parent.name for file in (folder / RESULTS / "runs").glob("*/error.txt")}
    checkpoint.unlink()
    snakemake(folder, FRAME, *CONFIG)
    damaged = folder / RESULTS / "runs" / min(old) / "clients.parquet"
    whole = damaged.read_bytes()
    damaged.write_bytes(b"half a table")
    lacking_call = snakemake(folder, *ASKED, check=False)
    lacking = shown(folder)
    damaged.write_bytes(whole)
    snakemake(folder, FIGURE, *ASKED)
    return SimpleNamespace(
        folder=folder,
        new=new,
        old=old,
        killed=killed,
        locked_call=locked_call,
        freed=freed,
        failed=failed,
        failed_call=failed_call,
        table=table,
        reason=reason,
        blamed=blamed,
        error=error,
        lacking_call=lacking_call,
        lacking=lacking,
        mended=times(folder),
        complete=shown(folder),
    )


def test_a_killed_job_loses_no_finished_run(story):
    assert set(story.killed) == {*story.old, story.new[0]}
    assert story.killed.items() <= story.mended.items()


def test_the_folder_of_a_killed_workflow_is_locked_until_it_is_freed(story):
    assert story.locked_call.returncode != 0
    assert LOCKED in story.locked_call.stderr
    assert story.freed


def test_a_failing_run_does_not_take_the_others_with_it(story):
    assert "damaged checkpoint" in story.reason
    assert story.blamed == {story.new[1]}  # and not the run that was finished before
    assert set(story.failed) == {*story.old, *story.new} - {story.new[1]}


def test_the_report_is_built_without_it_and_the_end_says_what_failed_and_what_to_do(story):
    assert sorted(story.table["n_seeds"]) == [3, 4]
    assert story.failed_call.returncode != 0
    said = story.failed_call.stderr
    assert "1 of 10 runs failed; the report is built without them:" in said
    assert f"  {story.new[1]}: " in said
    assert re.search(r"To train them again: snakemake --cores 1 .*--config scale=paper", said)


def test_a_run_that_is_mended_is_trained_and_its_error_is_gone(story):
    assert set(story.mended) == {*story.old, *story.new}
    assert not story.error.exists()


def test_a_longer_seed_list_trains_only_the_new_seeds(story):
    assert len(story.new) == 4  # two methods, seeds 2 and 3
    assert story.old.items() <= story.mended.items()
    assert pd.read_csv(story.folder / TABLE)["n_seeds"].tolist() == [4, 4]


def test_one_damaged_frame_of_a_figure_keeps_the_tables(story):
    done = story.lacking_call
    assert done.returncode != 0
    assert "not shown are tiny/fig2:" in done.stdout + done.stderr
    assert {"tables/tiny/table1.csv", "figures/tiny/fig1.svg"} <= story.lacking.files
    assert "tiny/fig2 is not shown" in story.lacking.page
    assert "figures/tiny/fig2.svg" in story.complete.files
    assert "is not shown" not in story.complete.page

"""A workflow that is asked to stop lets the round end and trains no further run."""

import os

from fedbench.plan.plan import make_plan
from fedbench.store import Results
from tests.jobs.started import started, wait_for, where_it_reads
from tests.project import make_project


def test_a_workflow_that_is_asked_to_stop_trains_no_further_run(tmp_path, write_plan):
    folder = make_project(tmp_path)
    write_plan(folder)
    first, second, *_ = make_plan(folder / "workflow", "paper").runs
    pipe = folder / "results/runs" / second / "checkpoint.pt"
    pipe.parent.mkdir(parents=True)
    os.mkfifo(pipe)
    log = folder / "results/paper/logs/train-0.log"
    frame = ("results/paper/tiny.parquet", "--config", "scale=paper")
    with started(folder, *frame) as process:
        wait_for("[1/4]", log)
        process.terminate()  # Snakemake alone; what trains waits at the pipe, or soon will
        wait_for("SIGTERM: stops", log)
        with where_it_reads(pipe, process):
            pass
        assert process.wait() != 0
    assert {path.parent.name for path in Results(folder / "results").records()} == {first}

"""What a started workflow prints: a line of progress in place of Snakemake's lists of files."""

import io
import logging
from pathlib import Path

import pytest
from rich.console import Console

from fedbench.jobs import progress
from fedbench.jobs.progress import Display
from fedbench.jobs.status import Watcher, again
from fedbench.plan.cost import Speeds
from fedbench.store import Results, note_failure
from tests.jobs.four_runs import IDS, finish, plan


class Shown:
    """A display with a logger that writes to a text, as Snakemake's writes to the terminal."""

    def __init__(self, results: Path) -> None:
        self.line, self.stream = io.StringIO(), io.StringIO()
        self.logger = logging.Logger("workflow")
        self.logger.addHandler(logging.StreamHandler(self.stream))
        watcher = Watcher(plan(one=tuple(IDS)), results, Speeds())
        self.page = results / "index.html"
        console = Console(file=self.line, width=200)
        self.display = Display(lambda: watcher, str(self.page), console)
        self.display.attach(self.logger)

    def log(self, event, **fields):
        self.logger.info("a list of files", extra={"event": event, **fields})


@pytest.fixture
def shown(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "_PAUSE", 0.01)
    return Shown(tmp_path)


def until(shown, words):
    """Wait until the line has these words."""
    while words not in shown.line.getvalue():
        assert shown.display._thread.is_alive()
    return shown.line.getvalue()


def test_runs_phase_and_failures_stand_in_one_line(shown, tmp_path):
    finish(tmp_path, IDS[0], 1.0)
    note_failure(Results(tmp_path).run(IDS[1]), ValueError("no memory"))
    shown.log("job_info", jobid=3, rule_name="train_12")
    shown.log("job_info", jobid=4, rule_name="collect")
    shown.log("job_finished", job_id=4)
    shown.display.start()
    assert until(shown, "runs").splitlines()[0] == "1 of 4 runs, 1 failed, training"
    assert list(shown.display.stop().failed) == [IDS[1]]


def test_lists_of_files_are_hidden_and_warnings_are_not(shown):
    shown.log("job_info", jobid=3, rule_name="plan")
    shown.log("shellcmd")
    shown.logger.info("Building DAG of jobs")
    shown.display.start()
    shown.logger.info("Select jobs to execute")
    shown.logger.warning("the disk is full")
    shown.display.stop()
    shown.logger.info("Complete log: there")
    said = shown.stream.getvalue()
    assert said == "Building DAG of jobs\nthe disk is full\nComplete log: there\n"


def test_a_job_that_failed_is_one_line_with_its_log(shown):
    shown.log("job_error", jobid=3, rule_name="train_3", log=["logs/train-3.log"])
    assert shown.line.getvalue() == "train_3 failed; its log is logs/train-3.log\n"
    assert not shown.stream.getvalue()


def test_seconds_of_jobs_are_counted_by_rule_from_their_start_to_their_end(shown):
    for job, rule in enumerate(("train_0", "train_1", "report", "reproduce_all")):
        shown.log("job_info", jobid=job, rule_name=rule)
    for job in (1, 0, 3, 7):  # the report has not ended; of 7 nothing is known
        shown.log("job_finished", job_id=job)
    assert [*shown.display.took] == ["train"]
    assert len(shown.display.took["train"]) == 2
    assert all(0 <= seconds < 10 for seconds in shown.display.took["train"])


def test_where_there_is_nothing_to_do_the_page_is_named(shown):
    words = "Nothing to be done (all requested files are present and up to date)."
    shown.logger.info(words)
    assert not shown.line.getvalue()  # the page is not there
    shown.page.touch()
    shown.logger.info(words)
    assert shown.line.getvalue() == f"The report: {shown.page}\n"


def test_on_a_terminal_there_is_a_bar(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "_PAUSE", 0.01)
    finish(tmp_path, IDS[0], 1.0)
    text, watcher = io.StringIO(), Watcher(plan(one=tuple(IDS)), tmp_path, Speeds())
    terminal = Console(file=text, force_terminal=True, width=100)
    shown = Display(lambda: watcher, "index.html", terminal)
    shown.start()
    while "1/4" not in text.getvalue():
        assert shown._thread.is_alive()
    shown.stop()


def test_the_command_that_goes_on_shows_no_password():
    said = again(["--config", "tracking_uri=postgresql://me:my/secret@host:5432/a", "papers=x"])
    assert said == "snakemake --config tracking_uri=postgresql://me:***@host:5432/a papers=x"
    plain = ["--config", "tracking_uri=http://host:5000/a b@c"]
    assert again(plain).endswith("'tracking_uri=http://host:5000/a b@c'")

"""What a started workflow shows: runs done and time left, in place of lists of files."""

import logging
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from fedbench.jobs.status import Overview, Watcher, duration
from fedbench.jobs.workflow_start_and_end import LOCKED

_PAUSE, _PLAIN_PAUSE = 1.0, 30.0  # seconds between two looks, and between two plain lines
_LOCKED = "LockException"  # begins Snakemake's message on a locked folder
_NOTHING = "Nothing to be done"  # begins its message if all files are there and up to date
_SHARE = 50  # looks take at most a fiftieth of the time
# Events of Snakemake's log that the line stands for
_JOBS = {"job_info", "job_started", "job_finished", "job_error", "group_info", "group_error"}
_LISTS = _JOBS | {"shellcmd", "progress", "run_info", "resources_info", "workflow_started"}
_PHASES = {
    "plan": "checking the plan",
    "data": "loading data",
    "train": "training",
    "select": "choosing settings",
    "collect": "collecting runs",
    "report": "writing the report",
    "track": "copying runs to MLflow",
}


class Display(logging.Handler):
    """Listens to Snakemake's log, and shows one line that says how far the workflow is.

    On a terminal the line has a bar and is drawn again and again; elsewhere a new line is printed
    every half minute. If there is nothing to do, it names the `page` that is there.
    """

    def __init__(
        self, watcher: Callable[[], Watcher], page: str, console: Console | None = None
    ) -> None:
        super().__init__()
        self._make_watcher, self._page = watcher, page
        self._console = console or Console(stderr=True)
        self._jobs: dict[int, tuple[str, float]] = {}  # rule and start of those that run
        self.took: dict[str, list[float]] = {}  # seconds of the jobs that ended, by rule
        self._end = threading.Event()
        show = self._bar if self._console.is_terminal else self._lines
        self._thread = threading.Thread(target=show, daemon=True)

    def attach(self, logger: logging.Logger, verbose: bool = False) -> None:
        """Listen to the logger; unless `verbose` hide what the line says in short."""
        for handler in logger.handlers if not verbose else ():
            to_file = isinstance(handler, logging.FileHandler)
            if isinstance(handler, logging.StreamHandler) and not to_file:
                handler.addFilter(self._is_shown)
        logger.addHandler(self)

    def start(self) -> None:
        """Begin to show the line."""
        self._watcher = self._make_watcher()
        self._thread.start()

    def stop(self) -> Overview:
        """End the line; returns the last look at the runs."""
        self._end.set()
        self._thread.join()
        return self._watcher.look()

    def emit(self, record: logging.LogRecord) -> None:
        """Note which job began or ended; an error is printed in one line."""
        if str(record.msg).startswith(_LOCKED):
            self._console.print(LOCKED, markup=False, highlight=False, soft_wrap=True)
        if str(record.msg).startswith(_NOTHING) and Path(self._page).exists():
            self._console.print(f"The report: {self._page}", markup=False, soft_wrap=True)
        told = record.__dict__
        match told.get("event"):
            case "job_info":
                rule = re.sub(r"_\d+$", "", told["rule_name"])  # the jobs train_0, train_1, …
                self._jobs[told["jobid"]] = rule, record.created
            case "job_finished":
                rule, began = self._jobs.pop(told["job_id"], ("reproduce_", 0.0))
                if not rule.startswith("reproduce_"):
                    self.took.setdefault(rule, []).append(record.created - began)
            case "job_error":
                self._jobs.pop(told["jobid"], None)
                logs = ", ".join(told["log"])
                self._console.print(f"{told['rule_name']} failed; its log is {logs}", markup=False)

    def _is_shown(self, record: logging.LogRecord) -> bool:
        """Whether a record is shown beside the line: a warning, or an error not said in short."""
        event = record.__dict__.get("event")  # none of a plain message
        plain = not event and record.levelno <= logging.INFO and self._thread.is_alive()
        in_short = str(record.msg).startswith(("RuleException", _LOCKED))
        return not (event in _LISTS or plain or in_short)

    def _bar(self) -> None:
        columns = TextColumn("runs"), MofNCompleteColumn(), BarColumn()
        words = TextColumn("{task.description}")
        with Progress(*columns, words, console=self._console, transient=True) as bar:
            task = bar.add_task("", total=None)
            pause = 0.0
            while not self._end.wait(pause):
                before = time.monotonic()
                seen = self._watcher.look()
                whole, said = seen.everything, " · ".join(self._words(seen))
                bar.update(task, total=whole.runs, completed=whole.complete, description=said)
                pause = max(_PAUSE, _SHARE * (time.monotonic() - before))

    def _lines(self) -> None:
        last = ""
        while not self._end.wait(_PLAIN_PAUSE if last else _PAUSE):
            seen = self._watcher.look()
            runs, done = seen.everything.runs, seen.everything.complete
            line = ", ".join([f"{done:,} of {runs:,} runs"] * bool(runs) + self._words(seen))
            if line != last:
                self._console.print(line, markup=False, highlight=False, soft_wrap=True)
            last = line

    def _words(self, seen: Overview) -> list[str]:
        """'2 failed', 'training', '3 min left'."""
        running = {rule for rule, _ in list(self._jobs.values())}
        words = [f"{len(seen.failed)} failed"] * bool(seen.failed)
        words += [said for phase, said in _PHASES.items() if phase in running]
        if seen.seconds_left:
            words.append(f"{duration(seen.seconds_left)} left")
        return words

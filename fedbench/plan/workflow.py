"""The workflow's paths and its training jobs, worked out from the plan."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

from fedbench.base.errors import unknown
from fedbench.base.files import exists, write_text
from fedbench.base.plugins import find_file, nearby
from fedbench.plan.asked import memory_mb, minutes
from fedbench.plan.cost import costs
from fedbench.plan.data import assumed_samples, data_key, files
from fedbench.plan.deal import Job, deal
from fedbench.plan.outdated import ask_until_the_end, outdate
from fedbench.plan.plan import Plan
from fedbench.plan.plugins import plugin_files
from fedbench.plan.schedule import fits, schedule, to_json
from fedbench.plan.speeds import Speeds
from fedbench.spec import Choice, RunSpec
from fedbench.store import Results, failure_file

_ENDINGS = ("csv", "tex", "md")  # of a table's files
DRAWN = ("svg", "png", "pdf")  # endings of a figure's files, for pages, for slides, for papers
_AT_ONCE = 96  # runs that share a process on one machine, where no size is given
# Snakemake takes a millisecond for each file that a job waits for. Where a paper has more runs than
# this, its frame waits for one of each job.
_MANY = 20_000


def options(**values: object) -> str:
    """Command-line options, quoted for a shell: a folder may be called "bob's results & co"."""
    return shlex.join(f"--{name.replace('_', '-')}={value}" for name, value in values.items())


@dataclass(frozen=True)
class JobRule:
    """A job as the workflow's rules take it.

    data, searches: the files that the job waits for; retries: files that are newer than the stamps
    if runs are to be trained again; stamps: the files that it writes; priority: the job with the
    highest is started first; minutes, memory_mb: what a cluster is asked for.
    """

    name: str
    priority: int
    data: list[str]
    searches: list[str]
    retries: list[str]
    stamps: list[str]
    log: str
    minutes: int
    memory_mb: int


def _telling(stamps: Sequence[str], since: float) -> str:
    """A stamp that is missing, else the newest if it is newer than `since`, else the first."""
    written = {stamp: _written(stamp) for stamp in stamps}
    newest = max(stamps, key=written.__getitem__)
    missing = (stamp for stamp in stamps if not written[stamp])
    return next(missing, newest if written[newest] > since else stamps[0])


def _written(file: str) -> float:
    """When the file was written, in seconds since 1970; 0 if there is none."""
    try:
        return Path(file).stat().st_mtime
    except OSError:
        return 0.0


@dataclass(frozen=True)
class WorkflowPaths:
    """The files that the rules of the workflow read and write, as Snakemake takes them: text.

    `trained` are the runs of the plan that are trained; without it all of them are.
    """

    scheduled: Plan
    results: Path
    reports: Path
    workflow: Path = Path("workflow")
    trained: Plan | None = None

    @property
    def plan(self) -> str:
        """The plan, which training and collecting read."""
        return str(self._results.plan(self.scheduled.scale))

    def begin(self) -> None:
        """Let a plan that is not this one count as out of date; without one, write it.

        Snakemake knows what a plan was made from only as long as its own notes are there, and does
        not make it again where these say that nothing has changed. And runs may have been restored,
        or trained at another scale, before there is a plan: Snakemake disregards the age of a
        training job's plan, but not that it is missing, and would start a process for every run.
        """
        file, planned = Path(self.plan), schedule(self.scheduled)
        stamps = (self._results.stamp(run_id) for run_id in self.scheduled.runs)
        if not exists(file) and any(exists(stamp) for stamp in stamps):
            write_text(file, to_json(planned))
            outdate(file)
        elif exists(file) and not fits(file, planned):
            outdate(file)

    def reopen(self) -> list[str]:
        """Have runs to train that have a stamp and no record trained again; returns their ids.

        Somebody has deleted the record, as a message about a damaged one asks for. A run that
        failed has none either; the end of the workflow has asked for that already.
        """
        folders, plan = self._results, self.trained or self.scheduled
        stamped = (run_id for run_id in plan.runs if exists(folders.stamp(run_id)))
        unrecorded = [run_id for run_id in stamped if not folders.run(run_id).has_record()]
        gone = [key for key in unrecorded if not exists(failure_file(folders.run(key)))]
        for run_id in gone:
            ask_until_the_end(folders.retry(run_id), folders.stamp(run_id))
        return gone

    @property
    def tracked(self) -> str:
        """The stamp of the last copy into MLflow."""
        return str(self._results.tracked(self.scheduled.scale))

    @property
    def nothing_missing(self) -> str:
        """The stamp that says that no run of the plan has failed."""
        return str(self._results.nothing_missing(self.scheduled.scale))

    @property
    def sources(self) -> list[str]:
        """The files that the plan and the report are made from: YAML, printed numbers, plug-ins."""
        folder, scales = self.workflow / "papers", self.workflow / "scales"
        papers = [find_file(folder, f"{name}.yaml") for name in self.scheduled.papers]
        printed = [file.with_suffix(".printed.csv") for file in papers]
        printed = [file for file in printed if exists(file)]
        scale = find_file(scales, f"{self.scheduled.scale}.yaml")
        read = (*papers, *printed, scale, *plugin_files(self.scheduled))
        return [str(nearby(file)) for file in read]

    def read(self, folder: Path) -> list[str]:
        """All that rules read and that was there before: sources, the user's data, finished runs.

        `folder` is that of the data files.
        """
        plan = self.scheduled
        data = [str(each) for choice in self._datasets.values() for each in files(choice, folder)]
        facts = [self.data(key) for key in self._datasets]
        runs = map(self.stamp, plan.runs)
        return [*self.sources, *data, *facts, *map(self.winner, plan.trials), *runs]

    def stamps(self, paper: str) -> list[str]:
        """The stamps of a paper's runs: those to train, and those that are finished already."""
        return [self.stamp(run_id) for run_id in self._runs(paper)]

    def awaited(self, paper: str, jobs: Iterable[JobRule]) -> list[str]:
        """The stamps of runs and trials that a paper's frame waits for; of many, one of each job.

        Which one depends on how the runs are dealt to jobs. If they are dealt in another way the
        next time, the frame may be collected once more than it had to be, but never too seldom.
        """
        trials = (self.trial_stamps(search) for search in self._searches(paper))
        stamps = dict.fromkeys((*self.stamps(paper), *chain.from_iterable(trials)))
        if len(stamps) <= _MANY:
            return list(stamps)
        frame = _written(self.frame(paper))
        apart = stamps.keys() - {stamp for job in jobs for stamp in job.stamps}
        pieces = ([stamp for stamp in job.stamps if stamp in stamps] for job in jobs)
        return [*(_telling(piece, frame) for piece in pieces if piece), *sorted(apart)]

    def trial_stamps(self, search: str) -> list[str]:
        """The stamps of a search's trials; raises `FedbenchError` on a search not in the plan."""
        if search not in self.scheduled.trials:
            raise unknown("search in this plan", search, self.scheduled.trials)
        return [self.stamp(run_id) for run_id in self.scheduled.trials[search]]

    def stamp(self, run_id: str) -> str:
        """The stamp of a run, written when the job that trains it has ended without an error."""
        return str(self._results.stamp(run_id))

    def data(self, key: str) -> str:
        """The facts of a data set, written once it has been loaded."""
        return str(self._results.data(key))

    def data_of(self, paper: str) -> list[str]:
        """The facts of the data sets that a paper's runs are trained on."""
        keys = dict.fromkeys(data_key(run.dataset) for run in self._runs(paper).values())
        return [self.data(key) for key in keys]

    def dataset(self, key: str) -> Choice:
        """The data set of that key; raises `FedbenchError` if no run of the plan has it."""
        if key not in self._datasets:
            raise unknown("data set in this plan", key, self._datasets)
        return self._datasets[key]

    def winners(self, paper: str) -> list[str]:
        """The settings that the searches of a paper's runs choose, where the runs are trained."""
        return [self.winner(search) for search in self._searches(paper)]

    def winner(self, search: str) -> str:
        """The settings that a search chose."""
        return str(self._results.winner(search))

    def frame(self, paper: str) -> str:
        """The histories of a paper's runs in one frame."""
        return str(self._results.frame(self.scheduled.scale, paper))

    def frames(self) -> list[str]:
        """The frames of all papers."""
        return [self.frame(paper) for paper in self.scheduled.papers]

    def log(self, name: str) -> str:
        """The log of a job."""
        return str(self._results.log(self.scheduled.scale, name))

    def pages(self) -> list[str]:
        """The HTML pages of the report."""
        return [f"{self._report}/{name}.html" for name in ("index", *self.scheduled.papers)]

    def tables(self) -> list[str]:
        """Every table as CSV, LaTeX and Markdown, and the evidence for the claims."""
        papers = self.scheduled.papers.items()
        keys = [(name, key) for name, paper in papers for key in (*paper.tables, *paper.facts)]
        claims = [
            f"{self._report}/claims/{n}.csv"
            for n in self.scheduled.papers
            if self.scheduled.asked[n].claims
        ]
        tables = [f"{self._report}/tables/{n}/{k}.{end}" for n, k in keys for end in _ENDINGS]
        return tables + claims

    def figures(self) -> list[str]:
        """Every figure as SVG, PNG and PDF."""
        papers = self.scheduled.papers.items()
        keys = [(name, key) for name, paper in papers for key in paper.figures]
        return [f"{self._report}/figures/{n}/{k}.{end}" for n, k in keys for end in DRAWN]

    def jobs(
        self, size: int, cores: int | None, speeds: Speeds, on_gpu: bool = False
    ) -> list[JobRule]:
        """The training jobs, as `deal` makes them: at most `size` runs each, so many at a time.

        Without a size 96 runs share a job on one machine; on a cluster their time alone decides.
        """
        plan = self.trained or self.scheduled
        cost = costs(plan.runs, speeds, assumed_samples)
        seconds = {k: each.gpu_seconds if on_gpu else each.core_seconds for k, each in cost.items()}
        jobs = deal(plan, seconds, size or (_AT_ONCE if cores else None), cores)
        return [self._rule(n, len(jobs) - n, job) for n, job in enumerate(jobs)]

    def _rule(self, n: int, priority: int, job: Job) -> JobRule:
        return JobRule(
            name=f"train_{n}",
            priority=priority,
            data=[self.data(job.data)],
            searches=[self.winner(job.search)] if job.search else [],
            retries=[str(file) for file in map(self._results.retry, job.run_ids) if exists(file)],
            stamps=[self.stamp(run_id) for run_id in job.run_ids],
            log=self.log(f"train-{n}"),
            minutes=minutes(job.seconds),
            memory_mb=max(memory_mb(self.scheduled.runs[run_id]) for run_id in job.run_ids),
        )

    def _runs(self, paper: str) -> dict[str, RunSpec]:
        """The runs of a paper's cells by their ids: those to train, and those that are finished."""
        runs = {cell.run_id: cell.run for cell in self.scheduled.cells if cell.paper == paper}
        if self.trained is None:
            return runs
        trained = self.trained.runs
        return {k: v for k, v in runs.items() if k in trained or exists(self._results.stamp(k))}

    def _searches(self, paper: str) -> list[str]:
        """The searches of the paper's runs that are trained."""
        plan, runs = self.trained or self.scheduled, self._runs(paper)
        trained = (plan.searches[run_id] for run_id in runs if run_id in plan.searches)
        return list(dict.fromkeys(trained))

    @cached_property
    def _datasets(self) -> dict[str, Choice]:
        return {data_key(run.dataset): run.dataset for run in self.scheduled.runs.values()}

    @cached_property
    def _results(self) -> Results:
        return Results(self.results)

    @property
    def _report(self) -> Path:
        return self.reports / self.scheduled.scale

"""The workflow's paths and its training jobs, worked out from the plan and from what is there."""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import inf
from pathlib import Path

from fedbench.base import registry
from fedbench.base.checksums import digest
from fedbench.base.errors import require_among
from fedbench.base.files import exists
from fedbench.base.plugins import composition_files, find_file, nearby
from fedbench.plan.cost import Speeds, costs
from fedbench.plan.data_checks import data_key, files
from fedbench.plan.plan import Plan
from fedbench.plan.plan_file import fingerprint
from fedbench.plan.train_jobs import Job, make_jobs
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


def plugin_files(plan: Plan) -> list[Path]:
    """The files of the plug-ins that its runs, figures and facts use, and of named methods."""
    used = {entry for run in plan.runs.values() for entry in run.plugins().values()}
    for paper in plan.papers.values():
        used |= {registry.find("figure", each.kind.name) for each in paper.figures.values()}
        used |= {registry.find("facts", each.kind.name) for each in paper.facts.values()}
    code = {entry.folder.root / name for entry in used for name in entry.sha256}
    return sorted(code.union(composition_files()))


def _written(file: Path) -> float:
    """When the file was written, in seconds since 1970; 0 if there is none."""
    return file.stat().st_mtime if exists(file) else 0.0


@dataclass(frozen=True)
class WorkflowPaths:
    """The files that the rules of the workflow read and write."""

    scheduled: Plan
    trained: Plan  # those of its runs that are to be trained
    results: Path
    reports: Path
    workflow: Path = Path("workflow")
    copies: bool = True  # whether figures and tables are files of their own, beside pages and CSV

    @cached_property
    def folders(self) -> Results:
        """What lies where below the folder of the results."""
        return Results(self.results)

    @property
    def of_scale(self) -> Path:
        """The folder of plan, frames and logs, and of stamps: `tracked`, `nothing-missing`."""
        return self.results / self.scheduled.scale

    @cached_property
    def plan(self) -> Path:
        """The plan, which all later steps read; that of another selection has another name."""
        return self.folders.plan(self.scheduled.scale, fingerprint(self.scheduled))

    @cached_property
    def unrecorded(self) -> frozenset[str]:
        """The ids of runs to train that have a stamp and no record: they failed, or lost it."""
        stamped = (k for k in self.trained.runs if exists(self.folders.stamp(k)))
        return frozenset(k for k in stamped if not self.folders.run(k).has_record())

    def lost(self) -> list[str]:
        """Those whose record somebody deleted, as a message about a damaged one asks for."""
        unrecorded = [run_id for run_id in self.scheduled.runs if run_id in self.unrecorded]
        return [k for k in unrecorded if not exists(failure_file(self.folders.run(k)))]

    def is_left(self, job: Job) -> bool:
        """Whether any run of a job is to be trained; another needs no rule and no process."""
        return any(k in self.unrecorded or not exists(self.folders.stamp(k)) for k in job.runs)

    def again(self, job: Job) -> list[Path]:
        """Folders with a stamp and no record; newer than it, they make Snakemake train again."""
        return [self.folders.run(k).path for k in job.runs if k in self.unrecorded]

    @property
    def sources(self) -> list[Path]:
        """The files that the plan and the report are made from: YAML, printed numbers, plug-ins."""
        names = self.scheduled.papers
        papers = [find_file(self.workflow / "papers", f"{name}.yaml") for name in names]
        printed = filter(exists, [file.with_suffix(".printed.csv") for file in papers])
        scale = find_file(self.workflow / "scales", f"{self.scheduled.scale}.yaml")
        read = (*papers, *printed, scale, *plugin_files(self.scheduled))
        return [nearby(file) for file in read]

    def read(self, folder: Path) -> list[Path]:
        """What rules read and was there before: sources, data files (in `folder`), facts, runs."""
        data = [file for choice in self._datasets.values() for file in files(choice, folder)]
        facts = map(self.folders.data, self._datasets)
        winners = map(self.folders.winner, self.scheduled.trials)
        return [*self.sources, *data, *facts, *winners, *self.stamps(self.scheduled.runs)]

    def stamps(self, run_ids: Iterable[str]) -> list[Path]:
        """The stamps of runs, written when the jobs that train them have ended without an error."""
        return [self.folders.stamp(run_id) for run_id in run_ids]

    def key(self, paper: str) -> str:
        """A key of all that a paper's frame is made of: with another one it is made anew."""
        return digest([list(self.runs(paper)), self.searches(paper)])

    def awaited(self, paper: str, jobs: Iterable[Job]) -> list[Path]:
        """The stamps of runs and trials that a paper's frame waits for; of many, one of each job.

        If runs are dealt to jobs in another way, the frame may be collected once too often.
        """
        trials = [each for search in self.searches(paper) for each in self.trial_stamps(search)]
        stamps = dict.fromkeys((*self.stamps(self.runs(paper)), *trials))
        if len(stamps) <= _MANY:
            return list(stamps)
        frame = _written(self.frame(paper))
        pieces = [[x for x in self.stamps(job.runs) if x in stamps] for job in jobs]
        # the first that is missing, else the newest if it is newer than the frame, else the first
        told = [max(p, key=lambda x: max(frame, _written(x) or inf)) for p in filter(None, pieces)]
        return [*told, *sorted(stamps.keys() - {*chain.from_iterable(pieces)})]

    def gone(self, paper: str, jobs: Iterable[Job]) -> list[Path]:
        """The folders that held what a paper's frame was collected from and is deleted by now.

        They are newer than the frame. Snakemake itself makes what is missing only for a frame that
        something else makes anew.
        """
        if not exists(self.frame(paper)):
            return []
        there = (*self.awaited(paper, jobs), *self.winners(paper), *self.data_of(paper))
        return sorted({next(filter(exists, x.parents)) for x in there if not exists(x)})

    def winners(self, paper: str) -> list[Path]:
        """What the searches of a paper's runs chose."""
        return [self.folders.winner(search) for search in self.searches(paper)]

    def trial_stamps(self, search: str) -> list[Path]:
        """The stamps of a search's trials; raises `FedbenchError` on a search not in the plan."""
        require_among("", "search in this plan", search, self.scheduled.trials)
        return self.stamps(self.scheduled.trials[search])

    def data_of(self, paper: str) -> list[Path]:
        """The facts of the data sets that a paper's runs are trained on."""
        keys = dict.fromkeys(data_key(run.dataset) for run in self.runs(paper).values())
        return [self.folders.data(key) for key in keys]

    def dataset(self, key: str) -> Choice:
        """The data set of that key; raises `FedbenchError` if no run of the plan has it."""
        require_among("", "data set in this plan", key, self._datasets)
        return self._datasets[key]

    def choices(self) -> list[Path]:
        """The settings that searches choose: of those trained, or there with all trials."""
        found = []
        for search in self.scheduled.trials:
            needed = (self.folders.winner(search), *self.trial_stamps(search))
            if search in self.trained.trials or all(map(exists, needed)):
                found.append(needed[0])
        return found

    def frame(self, paper: str) -> Path:
        """The histories of a paper's runs in one frame."""
        return self.folders.frame(self.scheduled.scale, paper)

    def pages(self) -> list[str]:
        """The HTML pages of the report, and the list of all files that were written with them."""
        names = ("index", *self.scheduled.papers, "run")
        return [*(f"{self._report}/{name}.html" for name in names), f"{self._report}/files.txt"]

    def tables(self) -> list[str]:
        """Every table as CSV, LaTeX and Markdown, or CSV alone, and the evidence for the claims."""
        papers, asked = self.scheduled.papers.items(), self.scheduled.asked
        endings = _ENDINGS if self.copies else _ENDINGS[:1]
        keys = [f"{name}/{key}" for name, paper in papers for key in (*paper.tables, *paper.facts)]
        tables = [f"{self._report}/tables/{key}.{end}" for key in keys for end in endings]
        return tables + [f"{self._report}/claims/{n}.csv" for n, _ in papers if asked[n].claims]

    def figures(self) -> list[str]:
        """Every figure as SVG, PNG and PDF; none where pages alone have them."""
        papers = self.scheduled.papers.items() if self.copies else ()
        keys = [f"{name}/{key}" for name, paper in papers for key in paper.figures]
        return [f"{self._report}/figures/{key}.{end}" for key in keys for end in DRAWN]

    def jobs(self, size: int, cores: int | None, speeds: Speeds, on_gpu: bool = False) -> list[Job]:
        """The training jobs, the longest first: at most `size` runs each, so many at a time.

        They are the same whatever was trained already: each machine of a cluster works them out.
        """
        cost = costs(self.trained.runs, speeds)
        seconds = {k: each.gpu_seconds if on_gpu else each.core_seconds for k, each in cost.items()}
        return make_jobs(self.trained, seconds, size or (_AT_ONCE if cores else None), cores)

    def runs(self, paper: str) -> dict[str, RunSpec]:
        """The runs of a paper's cells by their ids: those to train, and those that are finished."""
        runs, trained = self.scheduled.of_paper(paper), self.trained.runs
        return {k: v for k, v in runs.items() if k in trained or exists(self.folders.stamp(k))}

    def searches(self, paper: str) -> list[str]:
        """The searches of the paper's runs that are trained, first stages among them."""
        return self.trained.searches_of(self.runs(paper))

    @cached_property
    def _datasets(self) -> dict[str, Choice]:
        return {data_key(run.dataset): run.dataset for run in self.scheduled.runs.values()}

    @property
    def _report(self) -> Path:
        return self.reports / self.scheduled.scale

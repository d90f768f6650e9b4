"""The workflow's paths and batches, worked out from the plan, and the summary of a finished one."""

import re
import shlex
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from fedbench.base.files import exists
from fedbench.base.plugins import find_file, nearby
from fedbench.plan.plan import Plan
from fedbench.plan.plugins import plugin_files
from fedbench.plan.search import search_id
from fedbench.spec import RunSpec


def options(**values: object) -> str:
    """Command-line options as a shell must read them: a folder may be "bob's results & co"."""
    return shlex.join(f"--{name.replace('_', '-')}={value}" for name, value in values.items())


@dataclass(frozen=True)
class Batch:
    """Runs that share one process: what it waits for, what it stamps, where it logs."""

    name: str
    data: list[str]
    searches: list[str]
    stamps: list[str]
    log: str


@dataclass(frozen=True)
class Layout:
    """Where everything of a plan lies, below `results` and `reports`."""

    plan_: Plan
    results: Path
    reports: Path
    workflow: Path = Path("workflow")

    @property
    def plan(self) -> str:
        """The schedule that workers and collector read."""
        return f"{self._own}/plan.json"

    @property
    def tracked(self) -> str:
        """Stamp of the last mirror into MLflow."""
        return f"{self._own}/tracked"

    @property
    def sources(self) -> list[str]:
        """The YAML files, and printed numbers where there are any, that all is made from."""
        folder, scales = self.workflow / "papers", self.workflow / "scales"
        papers = [find_file(folder, f"{name}.yaml") for name in self.plan_.papers]
        printed = [file.with_suffix(".printed.csv") for file in papers]
        printed = [file for file in printed if exists(file)]
        scale = find_file(scales, f"{self.plan_.scale}.yaml")
        found = (*papers, *printed, scale, *plugin_files(self.plan_))
        return [str(nearby(file)) for file in found]

    def stamps(self, paper: str) -> list[str]:
        """Stamps of a paper's runs."""
        ids = {cell.run.id: None for cell in self.plan_.cells if cell.paper == paper}
        return [self.stamp(run_id) for run_id in ids]

    def trial_stamps(self, search: str) -> list[str]:
        """Stamps of a search's trials."""
        return [self.stamp(run_id) for run_id in self.plan_.trials[search]]

    def stamp(self, run_id: str) -> str:
        """Touched when the batch with this run ended well."""
        return f"{self.results}/runs/{run_id}/.done"

    def data(self, dataset: str) -> str:
        """Facts of a data set, written once it is there."""
        return f"{self.results}/data/{dataset}.json"

    def winner(self, search: str) -> str:
        """What a search chose."""
        return f"{self.results}/searches/{search}.json"

    def frame(self, paper: str) -> str:
        """The tidy frame of a paper."""
        return f"{self._own}/{paper}.parquet"

    def frames(self) -> list[str]:
        """The frames of all papers."""
        return [self.frame(paper) for paper in self.plan_.papers]

    def log(self, name: str) -> str:
        """A rule's log."""
        return f"{self._own}/logs/{name}.log"

    def pages(self) -> list[str]:
        """The HTML pages."""
        return [f"{self._shown}/{name}.html" for name in ("index", *self.plan_.papers)]

    def tables(self) -> list[str]:
        """Every table as CSV and LaTeX, and the evidence for the claims."""
        papers = self.plan_.papers.items()
        keys = [(name, key) for name, paper in papers for key in (*paper.tables, *paper.facts)]
        claims = [f"{self._shown}/claims/{n}.csv" for n, paper in papers if paper.claims]
        shown = [f"{self._shown}/tables/{n}/{k}.{end}" for n, k in keys for end in ("csv", "tex")]
        return shown + claims

    def figures(self) -> list[str]:
        """Every figure as SVG and PNG."""
        keys = [(name, key) for name, paper in self.plan_.papers.items() for key in paper.figures]
        return [f"{self._shown}/figures/{n}/{k}.{end}" for n, k in keys for end in ("svg", "png")]

    def batches(self, size: int) -> list[Batch]:
        """Runs of the same data set and search, `size` at a time.

        A run's inputs then do not depend on which other runs share its batch, so that a longer seed
        list or another batch size does not make Snakemake train anything again.
        """
        groups: dict[tuple[str, str], list[str]] = {}
        for run_id, run in self.plan_.runs.items():
            groups.setdefault((run.dataset.name, _search(run)), []).append(run_id)
        cut = [
            (key, ids[first : first + size])
            for key, ids in groups.items()
            for first in range(0, len(ids), size)
        ]
        return [self._batch(n, *key, ids) for n, (key, ids) in enumerate(cut)]

    def _batch(self, n: int, dataset: str, search: str, ids: list[str]) -> Batch:
        return Batch(
            name=f"train_{n}",
            data=[self.data(dataset)],
            searches=[self.winner(search)] if search else [],
            stamps=[self.stamp(run_id) for run_id in ids],
            log=self.log(f"train-{n}"),
        )

    @property
    def _own(self) -> str:
        return f"{self.results}/{self.plan_.scale}"

    @property
    def _shown(self) -> str:
        return f"{self.reports}/{self.plan_.scale}"


def _search(run: RunSpec) -> str:
    return search_id(run) if run.tune else ""


_STAMP = re.compile(r"\[(\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4})\]")
_STARTED = re.compile(r" +jobid: (\d+)")
_FINISHED = re.compile(r"Finished jobid: (\d+) \(Rule: (\w+)\)")


def summary(plan: Plan, log: str) -> str:
    """A line for the runs and one for the jobs in a log of Snakemake's."""
    took = [
        f"{station} {seconds:,.0f} s in {jobs}" for station, jobs, seconds in stations(log)
    ] or ["nothing was left to do"]
    runs = f"{len(plan.runs):,} runs, {shared(plan):,} of them in several tables or figures"
    return f"{runs}.\nStations, seconds and jobs: {', '.join(took)}."


def shared(plan: Plan) -> int:
    """How many runs more than one table or figure rests on, trials of a search among them."""
    count: Counter[str] = Counter()
    for name, paper in plan.papers.items():
        for _, item in paper.items():
            cells = plan.select(name, item.grid, item.where)
            count.update({run.id for run in plan.with_trials(cells)})
    return sum(times > 1 for times in count.values())


def stations(log: str) -> list[tuple[str, int, float]]:
    """(station, jobs, seconds that they took one after the other), in order of their end."""
    now, started = datetime.min, dict[str, datetime]()
    found: dict[str, list[float]] = {}
    for line in log.splitlines():
        if stamp := _STAMP.match(line):
            now = datetime.strptime(stamp[1], "%a %b %d %H:%M:%S %Y")
        elif begun := _STARTED.match(line):
            started[begun[1]] = now
        elif (ended := _FINISHED.match(line)) and not ended[2].startswith("reproduce"):
            station = re.sub(r"_\d+$", "", ended[2])  # the batches train_0, train_1, …
            found.setdefault(station, []).append((now - started[ended[1]]).total_seconds())
    return [(name, len(seconds), sum(seconds)) for name, seconds in found.items()]

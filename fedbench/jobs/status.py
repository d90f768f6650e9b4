"""How far the runs of a plan have come, by paper, from their folders alone; also in words."""

import os
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fedbench.base.errors import without_password
from fedbench.plan.cost import Speeds, costs
from fedbench.plan.plan import Plan
from fedbench.store import Results, RunState, Status, state

COMMAND = "FEDBENCH_COMMAND"  # the variable with what was typed, where a command starts Snakemake
_SHOWN = 5  # runs of a kind that are named; the report names all that failed


@dataclass(frozen=True)
class Tally:
    """The runs of a paper by status, and what is known of their seconds."""

    counts: Counter[Status]
    spent: float  # seconds that the complete runs took
    left: float  # seconds that one process would still need

    @property
    def runs(self) -> int:
        """All runs."""
        return self.counts.total()

    @property
    def complete(self) -> int:
        """The runs that were trained to their end, or diverged."""
        return self.counts[Status.finished] + self.counts[Status.diverged]

    @property
    def seconds_per_run(self) -> float | None:
        """The mean over the complete runs; None without any."""
        return self.spent / self.complete if self.complete else None

    def numbers(self) -> dict[str, float | None]:
        """How many runs have each status, and the seconds, for a program."""
        counts = {status.value: self.counts[status] for status in Status}
        return {**counts, "seconds_per_run": self.seconds_per_run, "core_seconds_left": self.left}


@dataclass(frozen=True)
class Overview:
    """All runs of a plan at one moment; `left` are those that wait or were stopped."""

    papers: dict[str, Tally]
    everything: Tally
    running: dict[str, RunState]
    failed: dict[str, RunState]
    left: list[str]
    processes: int  # the most that were seen to train at once

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the last run ends, with `processes` at work; None if none trains now."""
        if not self.everything.left:
            return 0.0
        return self.everything.left / self.processes if self.running else None

    def rows(self) -> Iterator[dict[str, str]]:
        """A row of a table for each paper, and one for all runs, without columns of zeros."""
        columns = [status for status in Status if self.everything.counts[status]]
        for name, tally in {**self.papers, "together": self.everything}.items():
            row = {"": name, "runs": f"{tally.runs:,}"}
            row |= {x: f"{tally.counts[x]:,}" if tally.counts[x] else "" for x in columns}
            seconds, left = tally.seconds_per_run, tally.left / max(1, len(self.running))
            row["seconds each"] = f"{seconds:.1f}" if seconds is not None else ""
            yield row | {"left": duration(left) if left else ""}


class Watcher:
    """Looks at the runs of a plan again and again; the folder of a complete run is read once."""

    def __init__(self, plan: Plan, results: Path, speeds: Speeds) -> None:
        self.plan, self.results = plan, results
        cost = costs(plan.runs, speeds)
        self._expected = {run_id: each.core_seconds for run_id, each in cost.items()}
        self._complete: dict[str, RunState] = {}
        self._processes = 0

    def look(self) -> Overview:
        """The runs as they are now. A run that two papers share counts in both."""
        folders = Results(self.results)
        there = set(os.listdir(folders.runs)) if folders.runs.is_dir() else set[str]()
        read = [x for x in self.plan.runs if x in there and x not in self._complete]
        found = {run_id: state(folders.run(run_id)) for run_id in read}
        self._complete |= {run_id: now for run_id, now in found.items() if now.complete}
        waiting = dict.fromkeys(self.plan.runs, RunState(Status.waiting))
        states = waiting | found | self._complete  # in the plan's order
        paces, left = self._paces(), dict.fromkeys(states, 0.0)
        for run_id, now in states.items():
            if not now.complete and now.status is not Status.failed:
                run = self.plan.runs[run_id]
                pace = paces.get(str(run.model)) or paces.get("") or 1.0
                left[run_id] = pace * self._expected[run_id] * (1 - now.round / run.rounds)

        def tally(run_ids: Iterable[str]) -> Tally:
            here = {run_id: states[run_id] for run_id in run_ids}
            counts = Counter(each.status for each in here.values())
            spent = sum(each.seconds for each in here.values() if each.complete)
            return Tally(counts, spent, sum(left[run_id] for run_id in here))

        by = {status: {k: x for k, x in states.items() if x.status is status} for status in Status}
        self._processes = max(self._processes, len(by[Status.running]))
        return Overview(
            {name: tally(self.plan.of_paper(name)) for name in self.plan.papers},
            tally(states),
            running=by[Status.running],
            failed=by[Status.failed],
            left=[*by[Status.waiting], *by[Status.stopped]],
            processes=self._processes,
        )

    def _paces(self) -> dict[str, float]:
        """Measured seconds over expected ones of the complete runs, by model, and '' for all."""
        spent, expected = defaultdict[str, float](float), defaultdict[str, float](float)
        for run_id, run_state in self._complete.items():
            for model in ("", str(self.plan.runs[run_id].model)):
                spent[model] += run_state.seconds
                expected[model] += self._expected[run_id]
        return {model: spent[model] / seconds for model, seconds in expected.items() if seconds}


def duration(seconds: float) -> str:
    """'40 s', '3 min', '2 h 05 min' or '4 days 03 h'."""
    minutes, hours = round(seconds / 60), round(seconds / 3600)
    if seconds < 60:
        return f"{seconds:.0f} s"
    if minutes < 60:
        return f"{minutes} min"
    if hours < 48:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{hours // 24} days {hours % 24:02d} h"


def again(words: Sequence[str]) -> str:
    """The command that goes on with a workflow: Snakemake with these words, or what was typed."""
    return without_password(os.environ.get(COMMAND) or shlex.join(["snakemake", *words]))


def at_the_end(seen: Overview, command: str, scale: str) -> Iterator[str]:
    """What failed, with the reason of each run, or how many runs are left; and what to do then."""
    count, left = len(seen.failed), len(seen.left) + len(seen.running)
    runs = f"{seen.everything.runs:,} runs"
    if count:
        then = f"{left:,} are not done yet" if left else "the report is built without them"
        yield f"{count:,} of {runs} failed; {then}:"
        yield from _some([f"{run_id}: {state.why}" for run_id, state in seen.failed.items()])
        if count > _SHOWN:
            yield f"`fedbench status --scale {scale}` lists them all."
        yield f"To train them again: {command}"
    elif seen.left:
        yield f"{seen.everything.complete:,} of {runs} are done. To go on: {command}"


def lost(run_ids: Sequence[str]) -> Iterator[str]:
    """The finished runs that are trained again, since their record was deleted."""
    if run_ids:
        yield "Runs to be trained again, since their run.json was deleted:"
    yield from _some(run_ids)


def _some(lines: Sequence[str]) -> Iterator[str]:
    yield from (f"  {line}" for line in lines[:_SHOWN])
    if len(lines) > _SHOWN:
        yield f"  and {len(lines) - _SHOWN:,} more"

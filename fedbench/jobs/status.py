"""How far the runs of a plan have come, by paper, from their folders alone."""

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fedbench.plan.cost import Speeds, costs
from fedbench.plan.data import assumed_samples
from fedbench.plan.plan import Plan
from fedbench.store import Results, RunState, Status, state


@dataclass(frozen=True)
class Tally:
    """The runs of a paper by status, and what is known of their seconds.

    `spent`: seconds that the complete runs took; `left`: seconds that one process would still need.
    """

    counts: Counter[Status]
    spent: float
    left: float

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


@dataclass(frozen=True)
class Overview:
    """All runs of a plan at one moment: by paper, altogether, and those that are not complete.

    left: those that wait or were stopped.
    """

    papers: dict[str, Tally]
    everything: Tally
    running: dict[str, RunState]
    failed: dict[str, RunState]
    left: list[str]

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the last run ends, if as many processes train as now; None if none does."""
        if not self.everything.left:
            return 0.0
        return self.everything.left / len(self.running) if self.running else None


@dataclass
class Watcher:
    """Looks at the runs of a plan again and again; the folder of a complete run is read once."""

    plan: Plan
    results: Path
    speeds: Speeds
    _complete: dict[str, RunState] = field(default_factory=dict)

    def __post_init__(self) -> None:
        cost = costs(self.plan.runs, self.speeds, assumed_samples)
        self._expected = {run_id: each.core_seconds for run_id, each in cost.items()}

    def look(self) -> Overview:
        """The runs as they are now. A run that two papers share counts in both."""
        states = self._states()
        paces = self._paces()
        papers = {
            name: self._tally({k: states[k] for k in self.plan.of_paper(name)}, paces)
            for name in self.plan.papers
        }
        return Overview(
            papers,
            self._tally(states, paces),
            {key: each for key, each in states.items() if each.status is Status.running},
            {key: each for key, each in states.items() if each.status is Status.failed},
            [
                key
                for key, each in states.items()
                if each.status in (Status.waiting, Status.stopped)
            ],
        )

    def _states(self) -> dict[str, RunState]:
        folders = Results(self.results)
        there = set(os.listdir(folders.runs)) if folders.runs.is_dir() else set[str]()
        states = {}
        for run_id in self.plan.runs:
            now = self._complete.get(run_id, RunState(Status.waiting))
            if run_id in there and not now.complete:
                now = state(folders.run(run_id))
            if now.complete:
                self._complete[run_id] = now
            states[run_id] = now
        return states

    def _paces(self) -> dict[str, float]:
        """Measured seconds over expected ones of the complete runs, by model, and '' for all."""
        sums: dict[str, tuple[float, float]] = {}
        for run_id, run_state in self._complete.items():
            for model in ("", str(self.plan.runs[run_id].model)):
                spent, expected = sums.get(model, (0.0, 0.0))
                sums[model] = spent + run_state.seconds, expected + self._expected[run_id]
        return {model: spent / expected for model, (spent, expected) in sums.items() if expected}

    def _tally(self, states: Mapping[str, RunState], paces: Mapping[str, float]) -> Tally:
        counts = Counter(each.status for each in states.values())
        spent = sum(each.seconds for each in states.values() if each.complete)
        return Tally(counts, spent, sum(self._left(k, each, paces) for k, each in states.items()))

    def _left(self, run_id: str, now: RunState, paces: Mapping[str, float]) -> float:
        """The seconds that the rest of a run is expected to take; none for one that has failed."""
        if now.complete or now.status is Status.failed:
            return 0.0
        run = self.plan.runs[run_id]
        pace = paces.get(str(run.model)) or paces.get("") or 1.0
        return pace * self._expected[run_id] * (1 - now.round / run.rounds)

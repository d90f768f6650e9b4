"""Shows how far the runs of a plan have come: as a table, or as plain values."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fedbench.jobs.status import Overview, Tally
from fedbench.jobs.words import duration
from fedbench.store import Status

_NAMED = 10  # running runs that are named


def shown(seen: Overview) -> RenderableType:
    """A table with a line per paper, then the runs that run, then those that failed."""
    shows = [status for status in Status if seen.everything.counts[status]]
    table = Table("", "runs", *shows, "seconds each", "left")
    for name, tally in {**seen.papers, "together": seen.everything}.items():
        table.add_row(name, *_cells(tally, seen, shows))
    running = list(seen.running.items())
    lines = [f"running: {run_id}, round {state.round}" for run_id, state in running[:_NAMED]]
    lines += [f"and {len(running) - _NAMED} more are running"] * (len(running) > _NAMED)
    lines += [f"failed: {run_id}: {state.why}" for run_id, state in seen.failed.items()]
    return Group(table, Text("\n".join(lines)))


def _cells(tally: Tally, seen: Overview, shows: Sequence[Status]) -> Iterator[str]:
    yield f"{tally.runs:,}"
    for status in shows:
        yield f"{tally.counts[status]:,}" if tally.counts[status] else ""
    yield f"{tally.seconds_per_run:.1f}" if tally.seconds_per_run is not None else ""
    yield duration(tally.left / max(1, len(seen.running))) if tally.left else ""


def facts(seen: Overview) -> dict[str, Any]:
    """The same as plain values, for a program."""
    return {
        "papers": {name: _numbers(tally) for name, tally in seen.papers.items()},
        "all": _numbers(seen.everything),
        "running": {run_id: asdict(state) for run_id, state in seen.running.items()},
        "failed": {run_id: state.why for run_id, state in seen.failed.items()},
    }


def _numbers(tally: Tally) -> dict[str, Any]:
    counts = {name.value: tally.counts[name] for name in Status}
    return counts | {"seconds_per_run": tally.seconds_per_run, "core_seconds_left": tally.left}

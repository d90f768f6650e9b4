"""The state of a workflow's runs in words, for a terminal and a log alike."""

import os
import shlex
from collections.abc import Iterator, Sequence

from fedbench.base.errors import without_password
from fedbench.jobs.status import Overview

COMMAND = "FEDBENCH_COMMAND"  # the variable with what was typed, where a command starts Snakemake
_SHOWN = 5  # runs of a kind that are named; the report names all that failed


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


def failures(seen: Overview, command: str, scale: str) -> Iterator[str]:
    """The failed runs with the reason of each, and the command that trains them again.

    If others are left, the workflow was stopped before the report.
    """
    if not seen.failed:
        return
    count, left = len(seen.failed), len(seen.left) + len(seen.running)
    then = f"{left:,} are not done yet" if left else "the report is built without them"
    yield f"{count:,} of {seen.everything.runs:,} runs failed; {then}:"
    for run_id, state in list(seen.failed.items())[:_SHOWN]:
        yield f"  {run_id}: {state.why}"
    if count > _SHOWN:
        yield f"  and {count - _SHOWN} more, which `fedbench status --scale {scale}` lists"
    yield f"To train them again: {command}"


def unfinished(seen: Overview, command: str) -> Iterator[str]:
    """How many runs are left after a stop, and the command that goes on."""
    if seen.left and not seen.failed:
        done = seen.everything.complete
        yield f"{done:,} of {seen.everything.runs:,} runs are done. To go on: {command}"


def lost(run_ids: Sequence[str]) -> Iterator[str]:
    """The finished runs that are trained again, since their record was deleted."""
    if run_ids:
        yield "Runs to be trained again, since their run.json was deleted:"
        yield from (f"  {run_id}" for run_id in run_ids[:_SHOWN])
    if len(run_ids) > _SHOWN:
        yield f"  and {len(run_ids) - _SHOWN:,} more"

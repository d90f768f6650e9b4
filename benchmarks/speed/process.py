"""A measured process: what it runs, when it begins, and what it reports."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from speed.stopwatch import DONE, READY

BENCHMARKS = Path(__file__).parents[1]
CORES = len(os.sched_getaffinity(0))

# What `fedbench train` sets by mallopt: the kernel does not get back the memory of every batch.
_ALLOCATOR = (
    "glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=2147483647:"
    "glibc.malloc.top_pad=268435456"
)

_FAREWELL = 120  # seconds for a process to end after its report


@dataclass(frozen=True)
class Command:
    """A measured process, or several equal ones at once.

    label: its row in the table; module: what runs, as after `python -m`; settings: what the module
    reads as JSON; threads: of torch in each process (OMP_NUM_THREADS); copies: processes at once;
    missing: why it cannot run, empty if it can.
    """

    label: str
    module: str
    settings: dict[str, Any] = field(default_factory=dict)
    threads: int = 1
    copies: int = 1
    python: Path = Path(sys.executable)
    missing: str = ""

    @property
    def environment(self) -> dict[str, str]:
        """The variables of its processes."""
        own = {
            "OMP_NUM_THREADS": str(self.threads),
            "GLIBC_TUNABLES": _ALLOCATOR,
            "PYTHONPATH": os.pathsep.join(self._paths),
            "FLWR_TELEMETRY_ENABLED": "0",  # Flower and Ray send nothing to anybody
            "RAY_USAGE_STATS_ENABLED": "0",
        }
        return {**os.environ, **own}

    @property
    def _paths(self) -> list[str]:
        """The peers' environments must not see fedbench, which needs packages that they lack."""
        at_home = self.python == Path(sys.executable)
        return [str(BENCHMARKS), str(BENCHMARKS.parent)] if at_home else [str(BENCHMARKS)]


def ours(
    label: str, kind: str = "rounds", threads: int = 1, copies: int = 1, **settings: Any
) -> Command:
    """A run of fedbench; `kind` is a function of speed/measure.py."""
    return Command(label, "speed.measure", {"kind": kind, **settings}, threads, copies)


def bare(label: str, threads: int = 1, copies: int = 1, **settings: Any) -> Command:
    """The bare loop."""
    return Command(label, "speed.measure", {"kind": "bare", **settings}, threads, copies)


class MeasurementError(Exception):
    """A measured process could not do its work; the message is the last line of its errors."""


@dataclass(frozen=True)
class Measured:
    """What the processes of one command reported.

    seconds: per round, and where several ran at once per round and process; startup: from the
    start of the first process to the end of its first round; peak_bytes: of the largest process;
    reports: all that each process said.
    """

    seconds: float
    startup: float
    peak_bytes: int
    reports: list[dict[str, Any]]


def measure(command: Command) -> Measured:
    """Run the command's processes to their end; raises `MeasurementError` if one fails."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as errors:
        processes = [_start(command, errors) for _ in range(command.copies)]
        try:
            for process in processes:
                _line(process, READY, errors)
            startup = time.monotonic() - began
            for process in processes:
                _tell(process)
            reports = [json.loads(_line(process, DONE, errors)) for process in processes]
            for process in processes:
                _leave(process)
        finally:
            for process in processes:
                process.kill()
                process.wait()
    return summary(reports, startup)


def summary(reports: list[dict[str, Any]], startup: float) -> Measured:
    """Seconds per round and process: from the first begin to the last end, over all rounds."""
    first = min(report["ends"][0] for report in reports)
    last = max(report["ends"][-1] for report in reports)
    rounds = sum(len(report["ends"]) - 1 for report in reports)
    peak = max(report["peak_bytes"] for report in reports)
    return Measured((last - first) / rounds, startup, peak, reports)


def _start(command: Command, errors: IO[str]) -> subprocess.Popen[str]:
    words = [str(command.python), "-m", command.module, json.dumps(command.settings)]
    return subprocess.Popen(  # noqa: S603  # our own words
        words,
        cwd=BENCHMARKS,
        env=command.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
    )


def _tell(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    process.stdin.write("go\n")
    process.stdin.flush()


def _leave(process: subprocess.Popen[str]) -> None:
    """Let a process end by itself, as Ray's own processes end with it."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=_FAREWELL)


def _line(process: subprocess.Popen[str], begin: str, errors: IO[str]) -> str:
    """The rest of the next line that begins so."""
    assert process.stdout
    for line in process.stdout:
        if line.startswith(begin):
            return line.removeprefix(begin).strip()
    errors.seek(0)
    said = [line for line in errors.read().splitlines() if line.strip()]
    raise MeasurementError(said[-1] if said else f"exit status {process.wait()}")

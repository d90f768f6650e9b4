"""What one measured process runs: its Python, module, settings, threads and how many at once."""

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).parents[1]
CORES = len(os.sched_getaffinity(0))

# What `fedbench train` sets by mallopt: the kernel does not get back the memory of every batch.
_ALLOCATOR = (
    "glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=2147483647:"
    "glibc.malloc.top_pad=268435456"
)


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

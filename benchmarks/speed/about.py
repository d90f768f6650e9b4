"""On which machine, with which versions and how busy a comparison was measured."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from speed.commands import CORES
from speed.environments import PEERS, missing, title


def about(repeats: int) -> dict[str, str]:
    """What stands above the tables, as name → text."""
    gigabytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    packages = ", ".join(f"{name} {version(name)}" for name in ("fedbench", "torch", "numpy"))
    peers = ", ".join(title(peer) for peer in PEERS if not missing(peer)) or "none installed"
    return {
        "machine": f"{_processor()}, {CORES} cores, {gigabytes:.0f} GB, {platform.platform()}",
        "versions": f"Python {platform.python_version()}, {packages}; peers: {peers}",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "other work on the machine at the start": f"load average {os.getloadavg()[0]:.1f}",
        "each number": f"the median of {repeats} repeats that alternate (quartiles in brackets)",
    }


def _processor() -> str:
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()

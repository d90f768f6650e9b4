"""The files that are being written, and those that a killed process left so."""

import os
import socket
from contextlib import suppress
from pathlib import Path

from fedbench.base.processes import alive

PARTIAL = ".part"  # how the names of files end that are being written


def begins(name: str) -> str:
    """How this process begins the name of the file that will be called `name` once written."""
    return f".{name}.{os.getpid()}@{socket.gethostname()}."


def abandoned(file: Path) -> bool:
    """Whether a process of this machine that lives no more was writing the file."""
    if not (file.name.startswith(".") and file.suffix == PARTIAL):
        return False
    begun, _, rest = file.name.rpartition("@")
    pid = begun.rpartition(".")[2]
    here = rest.startswith(f"{socket.gethostname()}.")
    return here and pid.isdecimal() and not alive(int(pid))


def delete_abandoned(folder: Path) -> None:
    """Delete what killed processes of this machine had not written to its end below the folder."""
    for file in folder.rglob(f".*{PARTIAL}"):
        if abandoned(file):
            with suppress(OSError):
                file.unlink()

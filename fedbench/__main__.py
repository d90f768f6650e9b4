"""`python -m fedbench` is the command line."""

import io
import sys
from contextlib import suppress

from fedbench.cli import (
    arena,
    bench,
    claims,
    compare,
    fetch,
    learned,
    list_,
    partition,
    plan,
    published,
    rules,
    run,
    show,
    start,
    status,
    verify,
)
from fedbench.cli.app import app

for stream in (sys.stdout, sys.stderr):
    # a terminal in Latin-1, or PYTHONIOENCODING=ascii, would end a command at its first 'α'
    if isinstance(stream, io.TextIOWrapper):
        with suppress(OSError):  # a file when Python began, and a pipe now
            stream.reconfigure(errors="backslashreplace")

# each module adds its commands to the app
__all__ = [
    "app",
    "arena",
    "bench",
    "claims",
    "compare",
    "fetch",
    "learned",
    "list_",
    "partition",
    "plan",
    "published",
    "rules",
    "run",
    "show",
    "start",
    "status",
    "verify",
]

if __name__ == "__main__":
    app()

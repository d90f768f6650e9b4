"""`python -m fedbench` is the command line."""

from fedbench.base.processes import print_anything
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

print_anything()

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

"""`python -m fedbench` is the command line."""

from fedbench.base.processes import print_anything
from fedbench.cli import (  # noqa: F401  # each module adds its commands to the app
    catalogue,
    claims,
    compare,
    partition,
    run,
    scale,
    show,
    workflow,
    workflow_steps,
)
from fedbench.cli.app import app

__all__ = ["app"]

print_anything()

if __name__ == "__main__":
    app()

"""`python -m fedbench` is the command line."""

from fedbench.base.processes import print_anything
from fedbench.cli import (  # noqa: F401  # each module adds its commands to the app
    bench_and_compare,
    catalogue,
    claims,
    init_export_restore,
    partition,
    plan_and_status,
    run,
    show,
    workflow_steps,
)
from fedbench.cli.app import app

print_anything()

if __name__ == "__main__":
    app()

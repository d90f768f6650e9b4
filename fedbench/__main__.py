"""`python -m fedbench` is the command line."""

from fedbench.cli import commands, rules
from fedbench.cli.app import app

__all__ = ["app", "commands", "rules"]  # each module adds its commands to the app

if __name__ == "__main__":
    app()

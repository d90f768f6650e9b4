"""`python -m fedbench` is the command line."""

from fedbench.cli import commands, rules, start
from fedbench.cli.app import app

__all__ = ["app", "commands", "rules", "start"]  # each module adds its commands to the app

if __name__ == "__main__":
    app()

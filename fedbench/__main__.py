"""`python -m fedbench` is the command line."""

from fedbench.cli import commands, learned, published, rules, start, status
from fedbench.cli.app import app

# each module adds its commands to the app
__all__ = ["app", "commands", "learned", "published", "rules", "start", "status"]

if __name__ == "__main__":
    app()

"""`python -m fedbench` is the command line."""

from fedbench.cli import bench, commands, compare, learned, rules, show, start, status
from fedbench.cli.app import app

# each module adds its commands to the app
__all__ = ["app", "bench", "commands", "compare", "learned", "rules", "show", "start", "status"]

if __name__ == "__main__":
    app()

"""`python -m fedbench` is the command line."""

from fedbench.cli import commands, fetch, learned, published, rules, start, status, verify
from fedbench.cli.app import app

# each module adds its commands to the app
__all__ = [
    *("app", "commands", "fetch", "learned", "published", "rules", "start", "status", "verify"),
]

if __name__ == "__main__":
    app()

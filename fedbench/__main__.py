"""`python -m fedbench` is the command line."""

from fedbench.cli.commands import app

app()

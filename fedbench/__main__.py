"""`python -m fedbench` is the command line."""

from fedbench.cli import app

app()

"""What is printed where the output takes no Greek."""

import io
import sys
from contextlib import suppress


def print_anything() -> None:
    """Write characters that the output's encoding lacks as escapes, as Python does for errors.

    A terminal in Latin-1, or PYTHONIOENCODING=ascii, would end a command at its first 'α'.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with suppress(OSError):  # a file when Python began, and a pipe now
                stream.reconfigure(errors="backslashreplace")

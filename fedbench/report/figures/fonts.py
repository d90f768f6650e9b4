"""Fonts in PDF files, without the tables by which a writer would shape text."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fontTools import subset

_SHAPING = ("GSUB", "GPOS", "GDEF", "kern")


@contextmanager
def placed() -> Iterator[None]:
    """Within the block a font's subset holds no rules for placing letters.

    The letters of a figure are placed already, and cutting these rules down to the letters in use
    takes two thirds of the time of writing a PDF. matplotlib 3.11 has no setting for it.
    """
    options: Any = subset.Options
    before = options._drop_tables_default
    options._drop_tables_default = [*before, *_SHAPING]
    try:
        yield
    finally:
        options._drop_tables_default = before

"""Text for CSV files, so that a spreadsheet shows it and never runs it as a formula."""

import pandas as pd

_COMMANDS = ("=", "+", "-", "@", "\t", "\r")


def plain(value: object) -> object:
    """Text that a spreadsheet would take for a formula, with an apostrophe in front.

    Numbers stay as they are. The apostrophe is what a spreadsheet itself writes to say that a cell
    is text; who reads the file by program strips it from text that begins with "'=" and the like.
    """
    if isinstance(value, str) and value.startswith(_COMMANDS) and not _is_number(value):
        return f"'{value}"
    return value


def to_csv(frame: pd.DataFrame) -> str:
    """A tidy frame as CSV, every text cell plain."""
    words = frame.apply(lambda column: column.map(plain) if column.dtype.kind in "OUT" else column)
    text: str = words.to_csv(index=False, float_format="%.10g", lineterminator="\n")
    return text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

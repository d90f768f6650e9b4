"""Text for CSV files, so that a spreadsheet shows it and never runs it as a formula."""

import pandas as pd

_COMMANDS = ("=", "+", "-", "@", "\t", "\r")


def plain(value: object) -> object:
    """The value, with an apostrophe in front of text that a spreadsheet would take for a formula.

    An apostrophe is how spreadsheets themselves mark a cell as text. A program that reads the file
    removes it from text that begins with "'=" and the like. Numbers stay as they are.
    """
    if isinstance(value, str) and value.startswith(_COMMANDS) and not _is_number(value):
        return f"'{value}"
    return value


def to_csv(frame: pd.DataFrame) -> str:
    """A frame as CSV in which no text is a formula."""
    words = frame.apply(lambda column: column.map(plain) if column.dtype.kind in "OUT" else column)
    text: str = words.to_csv(index=False, float_format="%.10g", lineterminator="\n")
    return text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

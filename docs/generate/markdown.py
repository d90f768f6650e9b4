"""Text of the code as Markdown: docstrings as paragraphs, rows as tables."""

import html
import re
from collections.abc import Iterable, Sequence

_CODE = re.compile(r"(`[^`]*`)")
_MARKS = re.compile(r"([\\*_\[\]|$])")
_COLUMNS = re.compile(r"\s*(\S+)\s{2,}(\S.*)")  # a line in two columns: a name, what it means


def prose(text: str) -> str:
    """A docstring as paragraphs and lists; what would be a mark of Markdown is written as it is."""
    return "\n\n".join(map(_paragraph, text.strip().split("\n\n")))


def _paragraph(text: str) -> str:
    """A paragraph in one line, or a list, if each of its lines is in two columns."""
    rows = [_COLUMNS.fullmatch(line) for line in text.splitlines()]
    if len(rows) > 1 and all(rows):
        return "\n".join(f"* {code(row[1])}: {escaped(row[2])}" for row in rows if row)
    return escaped(" ".join(text.split()))


def escaped(text: str) -> str:
    """Text without marks of Markdown; what stands between backticks stays code."""
    pieces = _CODE.split(text)
    return "".join(
        piece if number % 2 else _MARKS.sub(r"\\\1", html.escape(piece, quote=False))
        for number, piece in enumerate(pieces)
    )


def code(text: object) -> str:
    """Text as code, also inside a table."""
    return f"`{text!s}`".replace("|", r"\|")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; line breaks inside a cell become spaces."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(' '.join(cell.split()) for cell in line)} |" for line in lines)

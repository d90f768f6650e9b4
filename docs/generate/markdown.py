"""Text of the code as Markdown: docstrings as paragraphs, rows as tables."""

import re
from collections.abc import Iterable, Sequence

_CODE = re.compile(r"(`[^`]*`)")
_MARKS = re.compile(r"([\\*_\[\]<>|$])")


def prose(text: str) -> str:
    """A docstring as paragraphs; what Markdown would take for a mark is written as it is."""
    paragraphs = (" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n"))
    return "\n\n".join(escaped(paragraph) for paragraph in paragraphs)


def escaped(text: str) -> str:
    """Text without marks of Markdown; what stands between backticks stays code."""
    pieces = _CODE.split(text)
    return "".join(
        piece if number % 2 else _MARKS.sub(r"\\\1", piece) for number, piece in enumerate(pieces)
    )


def code(text: object) -> str:
    """Text as code, also inside a table."""
    return f"`{text!s}`".replace("|", r"\|")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; line breaks inside a cell become spaces."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(' '.join(cell.split()) for cell in line)} |" for line in lines)

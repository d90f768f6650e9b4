"""A claim's comparisons as a small picture: where effects and bounds lie, for an SVG in a page.

The template draws it. No drawing library is used, since a report has thousands of these lines.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10, nan

from fedbench.report.claims.finding import Evidence
from fedbench.report.values.numbers import amount
from fedbench.report.words import say

WIDTH = 304.0
_MARGIN, _FOOT, _ROOM = 6.0, 14.0, 200.0  # of the sides, of the scale's numbers, of all lines
_THINNEST, _THICKEST = 4.0, 11.0  # the height that a comparison's line takes
_HEAD, _LEGIBLE = 11.0, 8.5  # of the words above; the height of a line that has room for a name
_NAMES, _LETTERS = 128.0, 26  # the width of names, and how many letters of each it holds


@dataclass(frozen=True)
class Line:
    """A comparison at height `y`; None for what it does not have. `look` is its class in CSS."""

    y: float
    low: float | None
    effect: float | None
    high: float | None
    printed: float | None
    look: str
    title: str
    name: str


@dataclass(frozen=True)
class Plot:
    """All comparisons of one unit; `zero` and `marks` are upright lines, `ends` the scale's.

    `left` is where the scale begins, right of the lines' names, which many lines have no room for.
    """

    height: float
    left: float
    lines: tuple[Line, ...]
    zero: float
    marks: tuple[float, ...]
    ends: tuple[str, str]
    about: str


def plots(rows: Sequence[Evidence]) -> list[Plot]:
    """One picture per unit of those comparisons that have a printed or a measured effect."""
    seen = [row for row in rows if _effects(row)]
    units = dict.fromkeys(_unit(row) for row in seen)
    return [_plot([row for row in seen if _unit(row) == unit]) for unit in units]


def _unit(row: Evidence) -> str:
    return row.unit or row.metric


def _effects(row: Evidence) -> list[float]:
    """The effects, printed and measured, that can be drawn."""
    measured = row.interval.effect if row.interval else None
    return [x for x in (row.printed, measured) if x is not None and isfinite(x)]


def _bounds(row: Evidence) -> list[float]:
    """The ends of the 95 % confidence interval; none where there is no test."""
    return [row.plain.low, row.plain.high] if row.plain and row.plain.is_test else []


def _ends(rows: Sequence[Evidence]) -> tuple[float, float]:
    """All effects, marks and zero; bounds as far as they leave room to tell the effects apart."""
    inner = [0.0, *(x for row in rows for x in (*_effects(row), *row.marks))]
    low, high = min(inner), max(inner)
    room = (high - low) or 1.0
    outer = [x for row in rows for x in _bounds(row)]
    low, high = max(min([low, *outer]), low - room), min(max([high, *outer]), high + room)
    low, high = (low, high) if low < high else (low - room, high + room)
    step = 10 ** floor(log10(high - low)) / 2
    return floor(low / step) * step, ceil(high / step) * step


def _place(ends: tuple[float, float], left: float, x: float) -> float:
    """Where the effect `x` stands in the picture; what lies outside is drawn at the edge."""
    share = (min(max(x, ends[0]), ends[1]) - ends[0]) / (ends[1] - ends[0])
    return round(left + share * (WIDTH - _MARGIN - left), 1)


def _plot(rows: Sequence[Evidence]) -> Plot:
    ends, n = _ends(rows), len(rows)
    step = min(_THICKEST, max(_THINNEST, _ROOM / n))
    names = _names(rows) if step >= _LEGIBLE else [""] * n
    left = _NAMES if any(names) else _MARGIN
    lines = tuple(
        _line(row, name, ends, left, round(_HEAD + step * (i + 0.5) + 2, 1))
        for i, (row, name) in enumerate(zip(rows, names, strict=True))
    )
    marks = dict.fromkeys(_place(ends, left, x) for row in rows for x in row.marks if x)
    low, high = (amount(x, rows[0].unit) for x in ends)
    about = f"{n} comparison{'' if n == 1 else 's'} of {rows[0].metric}, from {low} to {high}"
    height = round(_HEAD + step * n + 4 + _FOOT, 1)
    return Plot(height, left, lines, _place(ends, left, 0.0), tuple(marks), (low, high), about)


def _names(rows: Sequence[Evidence]) -> list[str]:
    """By what the comparisons differ: their cells, their sides, or both; cut where it is long."""
    several = [len({row.cell for row in rows}) > 1, len({row.label for row in rows}) > 1]
    told = [(row.cell * several[0], row.label * several[1]) for row in rows]
    names = [": ".join(filter(None, each)) for each in told]
    return [x if len(x) <= _LETTERS else f"{x[: _LETTERS - 1].rstrip()}…" for x in names]


def _line(row: Evidence, name: str, ends: tuple[float, float], left: float, y: float) -> Line:
    effect = row.interval.effect if row.interval else None
    found = (*(_bounds(row) or (nan, nan)), effect, row.printed)
    low, high, at, printed = (
        None if x is None or not isfinite(x) else _place(ends, left, x) for x in found
    )
    told = f"{say('claims.interval', row)}, {say('claims.verdict', row)}"
    title = ": ".join(filter(None, (row.cell, row.label, told)))
    return Line(y, low, at, high, printed, _look(row), title, name)


def _look(row: Evidence) -> str:
    """The verdict; 'faint' where nothing is tested."""
    return row.verdict.value if row.of_paper else "faint undecided"

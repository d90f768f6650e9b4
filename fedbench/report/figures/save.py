"""Writes a figure as SVG, PNG and PDF, and says what a page's script tells of its curves."""

import re
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

import matplotlib as mpl
from fontTools.subset import Options
from matplotlib.font_manager import findfont, fontManager, get_font
from matplotlib.text import Text

from fedbench.base.errors import FedbenchError
from fedbench.base.files import atomic
from fedbench.report.figures.drawing import Drawing, remarked
from fedbench.report.figures.layout import TIP
from fedbench.report.figures.panels import Figure
from fedbench.report.figures.style import INK, PAPER, THEME
from fedbench.report.values.numbers import short, thinned

# What each format is saved with: no date or version, so that the same figure has the same bytes.
_SAVED: dict[str, Any] = {
    ".svg": {"metadata": {"Date": None, "Creator": None, "Format": None, "Type": None}},
    ".png": {"metadata": {"Software": None}, "dpi": 200},
    ".pdf": {"metadata": {"CreationDate": None, "Creator": None, "Producer": None}},
}
# Tables of ligatures and kerning, which a PDF has no use for; to cut them took most of its time
Options._drop_tables_default += ["GPOS", "GSUB"]  # it has no setting for it
_BOXES = "Last Resort"  # the start of the names of fonts that draw boxes in place of all letters
_POINTS = 100  # of a line at most


def write(draw: Callable[[], Figure], *files: Path) -> tuple[Figure, str]:
    """Draw a figure and write it to files by their endings; the same one gives the same bytes.

    Returned are the figure and the letters that are boxes in PNG and PDF, as no font has them.
    """
    for file in files:
        if file.suffix not in _SAVED:
            raise FedbenchError(f"{file}: a figure is written as one of {', '.join(_SAVED)}")
    with mpl.rc_context({**THEME, "svg.hashsalt": files[0].stem}):
        figure = draw()
        lacking = _lacking(figure)
        if fonts := {_font_with(letter) for letter in lacking} - {""}:
            mpl.rcParams["font.family"] = [*mpl.rcParams["font.family"], *sorted(fonts)]
            figure = draw()
            lacking = _lacking(figure)
        if engine := figure.get_layout_engine():
            engine.execute(figure)
            figure.set_layout_engine(None)  # or it is drawn twice, and anew, for each file
        for file in files:
            with atomic(file) as path:
                figure.savefig(path, format=file.suffix[1:], **_SAVED[file.suffix])
    return figure, "".join(lacking)


def _lacking(figure: Figure) -> list[str]:
    found = set[str]()
    for text in figure.findobj(Text):
        letters = {letter for letter in text.get_text() if letter.isprintable()}
        for family in text.get_fontfamily():
            properties = copy(text.get_fontproperties())
            properties.set_family(family)
            font = get_font(findfont(properties))
            letters = {letter for letter in letters if not font.get_char_index(ord(letter))}
        found |= letters
    return sorted(found)


def _font_with(letter: str) -> str:
    """The first installed font by name that has the letter; empty if none."""
    fonts = sorted((font.name, font.fname) for font in fontManager.ttflist)
    named = ((name, file) for name, file in fonts if not name.startswith(_BOXES))
    return next((n for n, file in named if get_font(file).get_char_index(ord(letter))), "")


def inline(svg: str, key: str) -> str:
    """The SVG for an HTML page: text and axes in the page's colour, ids that no other SVG has."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>\s*", "", body, flags=re.DOTALL)
    body = re.sub(r'\s(xmlns(:\w+)?|version)="[^"]*"', "", body)
    body = re.sub(f'<g id="[^" ]*{TIP}([^"]*)">', r"<g><title>\1</title>", body)
    body = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{key}-", body)
    body = re.sub(r' (width|height)="[^"]*"', "", body, count=2)  # of the whole
    return body.replace(INK, "currentColor").replace(PAPER, "none")


def readout(drawing: Drawing, figure: Figure) -> list[dict[str, Any]]:
    """The panels with curves, of a figure that has been laid out, for a page's script."""
    placed = [axes for axes in figure.axes if axes.get_gid()]  # the first part of each panel
    panels, said = [], remarked(drawing)
    width, height = (72 * inches for inches in figure.get_size_inches())
    for axes, panel in zip(placed, drawing.panels, strict=False):
        if curves := [*drawing.kind.curves_of(panel)]:
            name, at = f"{drawing.key}-{axes.get_gid()}", axes.get_position()
            # left, top, right and bottom in points of the SVG
            box = (at.x0 * width, (1 - at.y1) * height, at.x1 * width, (1 - at.y0) * height)
            told: dict[str, Any] = {"title": panel.title, "axis": curves[0][2].index.name}
            told |= {"box": [round(x, 1) for x in box], "x": [float(x) for x in axes.get_xlim()]}
            lines = []
            for n, hue, whole in curves:
                curve = whole.iloc[thinned(len(whole), _POINTS)]
                lines.append(
                    {
                        "label": hue.label,
                        "said": said[hue.label],  # by the legend
                        "colour": hue.style.colour,
                        "ids": [f"{name}-{n}", f"{name}-{n}-band"],  # of what is drawn for it
                        "x": [short(float(x)) or 0.0 for x in curve.index],
                        "y": [short(float(y)) for y in curve],
                    }
                )
            panels.append(told | {"lines": lines})
    return panels

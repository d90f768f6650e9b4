"""How figures look: the theme, one style per method; lines and markers differ, to read in grey."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import log
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from fedbench.paper.yaml_notation import Level

Dashes = str | tuple[int, tuple[int, ...]]

INK, PAPER = "#1a1b1e", "#fffffe"  # in a page's SVG they are replaced by the page's colours
THEME: Any = {
    **sns.axes_style("ticks"), **sns.plotting_context("paper", font_scale=9 / 9.6),
    # one font on all machines: letters of another width would move what stands beside them
    "font.family": ["sans-serif"], "font.sans-serif": ["DejaVu Sans"],
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": INK, "xtick.color": INK,
    "ytick.color": INK, "figure.facecolor": PAPER, "savefig.facecolor": PAPER,
    "axes.facecolor": "none", "axes.spines.top": False, "axes.spines.right": False,
    "axes.linewidth": 0.8, "xtick.major.size": 3.5, "ytick.major.size": 3.5,
    "axes.grid": True, "grid.color": INK, "grid.alpha": 0.12, "grid.linewidth": 0.6,
    "legend.frameon": False, "legend.fontsize": 9, "text.parse_math": False, "path.simplify": False,
    "svg.fonttype": "none", "pdf.fonttype": 42,  # letters stay letters, as publishers require
}  # fmt: skip

# Seaborn's palette for the colour-blind, with a grey that can be read on a dark page too and a
# darker yellow. Those without an underscore also stand for what is no method.
BLUE, _ORANGE, GREEN, RED, _PURPLE, *_, _SKY = sns.color_palette("colorblind").as_hex()
_OLIVE, GREY = "#b3a200", "#7a8290"
# Darker shades, for methods that stand beside another of the same colour.
_NAVY, _BROWN, _FOREST, _PLUM = "#003F66", "#8A3B00", "#005F46", "#8A1A5A"
_COLOURS = (BLUE, RED, GREEN, _PURPLE, _SKY, _ORANGE, _OLIVE)
_LONG: Dashes = (0, (7, 2))
_CHAIN: Dashes = (0, (3, 1, 1, 1, 1, 1))
_LINES: tuple[Dashes, ...] = ("-", "--", "-.", ":", _LONG)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_HATCHES: dict[Dashes, str] = {"-": "", "--": "//", ":": "..", "-.": "xx", _CHAIN: "++"}
# Of shades; a lighter line cannot be seen on a white page, a darker one on a dark page.
_LUMINANCES = (0.42, 0.18, 0.06)
# Lines of a method's variants, in the order in which the variants appear.
_VARIANTS: tuple[Dashes, ...] = (":", "-.", _LONG, _CHAIN, (0, (1, 3)), (0, (9, 2, 1, 2)))


@dataclass(frozen=True)
class Style:
    """How a line is drawn; the markers of a method's variants are hollow."""

    colour: str
    line: Dashes
    marker: str
    hollow: bool = False


# Within a paper, methods of different families differ in colour, and in line or marker.
_METHODS = {
    "FedAvg": Style(GREY, "-", "o"),
    "FedProx": Style(_ORANGE, "--", "s"),
    "FedDyn": Style(GREEN, "-.", "^"),
    "FedNTD": Style(_PURPLE, ":", "D"),
    "MOON": Style(_SKY, _LONG, "X"),
    "FedADC": Style(RED, "-", "*"),
    "FedRS": Style(_OLIVE, _CHAIN, "v"),
    "SlowMo": Style(_FOREST, "--", "<"),
    "FedGKD": Style(BLUE, "-", "P"),
    "FedDistill+": Style(GREEN, "-.", "^"),
    "FedGen": Style(_PURPLE, ":", "D"),
    "FedDF": Style(_OLIVE, "--", "v"),
    "FedExP": Style(_SKY, "-.", "X"),
    "FedGA": Style(_PURPLE, ":", "D"),
    "FedCM": Style(_BROWN, _LONG, "^"),
    "FedVARP": Style(_OLIVE, _CHAIN, "v"),
    "FedDPC": Style(_NAVY, "-", "D"),
    "FedSpeed": Style(RED, _LONG, "v"),
    "FedDisco": Style(_SKY, "--", "X"),
    "FedSAM": Style(_OLIVE, _CHAIN, "P"),
    "MFL": Style(BLUE, "-.", "^"),
    "RMFL": Style(RED, "--", "s"),
    "SCAFFOLD": Style(BLUE, "--", "v"),
    "MimeLite": Style(_SKY, "--", "D"),
    "FedNova": Style(_ORANGE, _LONG, "<"),
    "FedACG": Style(_PURPLE, "--", "s"),
    "FedAdagrad": Style(_OLIVE, "--", "o"),
    "FedAdam": Style(RED, "--", "X"),
    "FedYogi": Style(GREEN, "--", "P"),
}
_FIXED = {
    **_METHODS,
    # variants that always have the same line, whichever others appear
    "FedADC blue": replace(_METHODS["FedADC"], colour=_NAVY, line="-.", hollow=True),
    "FedADC double": replace(_METHODS["FedADC"], colour=_OLIVE, line=":", hollow=True),
    "FedADC+": replace(_METHODS["FedADC"], line="--", hollow=True),
    "FedGKD+": replace(_METHODS["FedGKD"], line="--", hollow=True),
    "FedGKD-Vote": replace(_METHODS["FedGKD"], line="-.", marker="*", hollow=True),
    # It runs together with FedDPC, of which a shade could not be told apart.
    "FedDPC (projection only), step 1+λ": Style(RED, "-.", "s", hollow=True),
    "FedLS-NTD": _METHODS["FedNTD"],
    "Two-sided FedAvg": replace(_METHODS["FedAvg"], line="--", hollow=True),
    **{
        f"{name}+ASD": replace(plain, line="-" if plain.line == "--" else "--", hollow=True)
        for name, plain in _METHODS.items()
    },
}


def style(place: int) -> Style:
    """The style number n of an endless list, in which the first 280 differ."""
    colour, line = _COLOURS[place % len(_COLOURS)], _LINES[place % len(_LINES)]
    return Style(colour, line, _MARKERS[place % len(_MARKERS)])


def styles(levels: Iterable[Level]) -> dict[Level, Style]:
    """One style per level of a hue: fixed for methods listed here, numbers are graded in colour.

    'X, …', 'X (…)' and 'X+…' have a shade of X's colour, another line and another marker; any other
    word takes the next free style.
    """
    unique = list(dict.fromkeys(levels))
    if not unique or any(isinstance(level, str) for level in unique):
        return _worded(unique)
    numbers = sorted(unique, key=float)
    values = [float(number) for number in numbers]
    # all colours can be read on a white and on a dark page
    if values[0] < 0 < values[-1]:  # in blue below 0, above from olive to plum
        cold = sns.blend_palette([_NAVY, BLUE, _SKY], sum(x < 0 for x in values))
        warm = sns.blend_palette([_OLIVE, RED, _PLUM], sum(x > 0 for x in values))
        colours = sns.color_palette([*cold, *[GREY] * (0.0 in values), *warm])
    else:  # from dark violet through red to orange, so that they are graded in grey too
        plasma, steps = sns.color_palette("plasma", as_cmap=True), max(1, len(values) - 1)
        colours = sns.color_palette([plasma(0.2 + 0.6 * (i / steps)) for i in range(len(values))])
    return {x: replace(style(i), colour=colours.as_hex()[i]) for i, x in enumerate(numbers)}


def _worded(levels: list[Level]) -> dict[Level, Style]:
    chosen = {level: _FIXED[str(level)] for level in levels if str(level) in _FIXED}
    free = (one for one in map(style, range(280)) if one not in _FIXED.values())
    listed, families = [*chosen.values()], Counter[str]()
    for level in (level for level in levels if level not in chosen):
        # the longest listed method that the name begins with
        starts = [x for x in _FIXED if str(level).startswith((f"{x},", f"{x} ", f"{x}+"))]
        if not starts:
            chosen[level] = next(free)
            continue
        base = _FIXED[max(starts, key=len)]
        family = [base, *(one for one in listed if one.colour == base.colour)]
        chosen[level] = _variant(family, families[base.colour], {*chosen.values()})
        families[base.colour] += 1
    return {level: chosen[level] for level in levels}


def _variant(family: list[Style], place: int, taken: set[Style]) -> Style:
    """The variant number n of a family of one colour: in another shade, line and marker."""
    colour = family[0].colour
    shades = sns.color_palette([sns.set_hls_values(colour, l=n / 100) for n in range(101)]).as_hex()
    # two that differ most from the colour in luminance, so that they do in grey too
    apart = sorted(_LUMINANCES, key=lambda wanted: -abs(log(wanted / luminance(colour))))
    chosen = [min(shades, key=lambda x: abs(luminance(x) - at)) for at in apart[:2]]
    lines = [line for line in _VARIANTS if line not in {one.line for one in family}]
    marks = [mark for mark in _MARKERS if mark not in {one.marker for one in family}]
    # a noisy dashed line looks solid: the marker differs in grey from what is taken, too
    line, grey = lines[place % len(lines)], {(one.line, one.marker, one.hollow) for one in taken}
    marks = marks[place % len(marks) :] + marks[: place % len(marks)]
    marker = next((mark for mark in marks if (line, mark, True) not in grey), marks[0])
    return Style(chosen[place % len(chosen)], line, marker, hollow=True)


def luminance(colour: str) -> float:
    """From 0 to 1, as screens give it."""
    red, green, blue = (float(part**2.2) for part in sns.color_palette([colour])[0])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def stroke(style: Style) -> dict[str, Any]:
    """The options of matplotlib for a line of that style."""
    marker = {"marker": style.marker, "markersize": 5, "markeredgewidth": 1.0}
    face = "none" if style.hollow else style.colour
    marker |= {"markerfacecolor": face, "markeredgecolor": style.colour}
    return {"color": style.colour, "linestyle": style.line, **marker}


def filling(style: Style, strength: float = 0) -> dict[str, Any]:
    """How a bar or box is filled; `strength`: of its colour, 0: all of it, less for variants."""
    # mixed with white: a transparent colour would hide the hatching in an SVG
    strength = strength or (0.4 if style.hollow else 1.0)
    colour = sns.blend_palette(["white", style.colour], 101).as_hex()[round(100 * strength)]
    hatch = _HATCHES.get(style.line, "\\\\")
    return {"facecolor": colour, "edgecolor": INK, "hatch": hatch, "linewidth": 0.6}


def bars(axes: Axes, rows: pd.DataFrame, looks: dict[str, Any], **options: Any) -> None:
    """Bars of a table's rows, side by side by their `hue`, which `looks` fills."""
    sns.barplot(rows, hue="hue", hue_order=list(looks), legend=False, ax=axes, **options)
    for hue, look in zip(axes.containers, looks.values(), strict=False):  # none of no number
        for bar in hue:
            bar.set(**look)
    axes.grid(visible=False, axis="x")


def points(axes: Axes, rows: pd.DataFrame, value: str, **options: Any) -> None:
    """Points of a table's rows, with intervals of `spread` around their `value`.

    Seaborn takes an interval from values alone: here the range of its middle and its two ends.
    """
    ends = [rows.assign(**{value: rows[value] + n * rows["spread"]}) for n in (-1, 1)]
    options |= {"estimator": "median", "errorbar": ("pi", 100), "linestyle": "none"}
    sns.pointplot(pd.concat([rows, *ends], ignore_index=True), linewidth=1, ax=axes, **options)

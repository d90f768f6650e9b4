"""One style per method in all figures: a colour, and a line and marker that differ in grey too."""

from collections import Counter
from collections.abc import Iterable
from colorsys import hls_to_rgb, rgb_to_hls
from dataclasses import dataclass, replace
from math import log

from matplotlib import colormaps
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb

from fedbench.paper.places import Level

Dashes = str | tuple[int, tuple[int, ...]]

# Okabe and Ito's palette, with a grey in place of their black, which cannot be read on a dark page,
# and a darker yellow at the end. Those without an underscore also stand for what is no method.
BLUE, RED, GREEN, _PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
_SKY, _ORANGE, _OLIVE, GREY = "#56B4E9", "#E69F00", "#B3A200", "#7A8290"
# Darker shades, for methods that stand beside another of the same colour.
_NAVY, _BROWN, _FOREST = "#003F66", "#8A3B00", "#005F46"
_COLOURS = (BLUE, RED, GREEN, _PURPLE, _SKY, _ORANGE, _OLIVE)
_LONG: Dashes = (0, (7, 2))
_CHAIN: Dashes = (0, (3, 1, 1, 1, 1, 1))
_LINES: tuple[Dashes, ...] = ("-", "--", "-.", ":", _LONG)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_HATCHES: dict[Dashes, str] = {"-": "", "--": "//", ":": "..", "-.": "xx", _CHAIN: "++"}
# Of shades; a lighter line cannot be seen on a white page, a darker one on a dark page.
_LUMINANCES = (0.42, 0.18, 0.06)
# Lines of a method's variants, in the order in which the variants appear.
_VARIANTS: tuple[Dashes, ...] = (*(":", "-.", _LONG, _CHAIN, (0, (1, 3)), (0, (9, 2, 1, 2))),)


@dataclass(frozen=True)
class Style:
    """How a line is drawn; the markers of a method's variants are hollow."""

    colour: str
    line: Dashes
    marker: str
    hollow: bool = False

    @property
    def face(self) -> str:
        """The colour that fills the marker."""
        return "none" if self.hollow else self.colour

    @property
    def hatch(self) -> str:
        """The pattern of a bar or box."""
        return _HATCHES.get(self.line, "\\\\")


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
    "FedDPC": Style(BLUE, "-", "P"),
    "FedSpeed": Style(RED, _LONG, "v"),
    "FedDisco": Style(_SKY, "--", "X"),
    "FedSAM": Style(_OLIVE, _CHAIN, "P"),
    "MFL": Style(BLUE, "-.", "^"),
    "RMFL": Style(RED, "--", "s"),
    "SCAFFOLD": Style(BLUE, "--", "v"),
    "MimeLite": Style(_SKY, "--", "D"),
    "FedNova": Style(_ORANGE, "--", "^"),
    "FedACG": Style(_PURPLE, "--", "s"),
    "FedAdagrad": Style(_OLIVE, "--", "o"),
    "FedAdam": Style(RED, "--", "X"),
    "FedYogi": Style(GREEN, "--", "P"),
}
# Variants that always have the same line, whichever others appear.
_NAMED = {
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
_FIXED = _METHODS | _NAMED


def style(place: int) -> Style:
    """The style number n of an endless list, in which the first 280 differ."""
    return Style(
        _COLOURS[place % len(_COLOURS)],
        _LINES[place % len(_LINES)],
        _MARKERS[place % len(_MARKERS)],
    )


def styles(levels: Iterable[Level]) -> dict[Level, Style]:
    """One style per level of a hue.

    The methods listed in this file have fixed styles; 'X, …', 'X (…)' and 'X+…' have a shade of X's
    colour, another line and another marker; any other word takes the next free style. Numbers are
    graded, from dark to light or, where they lie on both sides of 0, away from grey.
    """
    unique = list(dict.fromkeys(levels))
    if unique and not any(isinstance(level, str) for level in unique):
        return _ordered(sorted(unique, key=float))
    return _worded(unique)


def _ordered(numbers: list[Level]) -> dict[Level, Style]:
    """From dark violet through red to orange; below and above 0 in blue and in red.

    All can be read on a white and on a dark page. On one side of 0 they go from dark to light, so
    that they are graded in grey too.
    """
    values = [float(number) for number in numbers]
    if values[0] < 0 < values[-1]:
        colours = _diverging(values)
    else:
        colours = [to_hex(colormaps["plasma"](0.2 + 0.6 * at)) for at in _spread(len(values))]
    return {x: replace(style(i), colour=colours[i]) for i, x in enumerate(numbers)}


def _diverging(values: list[float]) -> list[str]:
    """Blue below 0, the darker the further away; grey at 0; above it from orange to brown."""
    below, above = sum(x < 0 for x in values), sum(x > 0 for x in values)
    cold = LinearSegmentedColormap.from_list("cold", [_NAVY, BLUE, _SKY])
    warm = LinearSegmentedColormap.from_list("warm", [_ORANGE, RED, _BROWN])
    blue = [to_hex(cold(at)) for at in _spread(below)]
    return blue + [GREY] * (0.0 in values) + [to_hex(warm(at)) for at in _spread(above)]


def _spread(number: int) -> list[float]:
    """So many numbers from 0 to 1."""
    return [i / max(1, number - 1) for i in range(number)]


def _worded(levels: list[Level]) -> dict[Level, Style]:
    chosen = {level: _FIXED[str(level)] for level in levels if str(level) in _FIXED}
    free = (one for one in map(style, range(280)) if one not in _FIXED.values())
    listed, families = [*chosen.values()], Counter[str]()
    for level in (level for level in levels if level not in chosen):
        base = _base(str(level))
        if base is None:
            chosen[level] = next(free)
            continue
        family = [base, *(one for one in listed if one.colour == base.colour)]
        chosen[level] = _variant(family, families[base.colour], {*chosen.values()})
        families[base.colour] += 1
    return {level: chosen[level] for level in levels}


def _base(name: str) -> Style | None:
    """The style of the longest listed method that the name begins with."""
    bases = [base for base in _FIXED if name.startswith((f"{base},", f"{base} ", f"{base}+"))]
    return _FIXED[max(bases, key=len)] if bases else None


def _variant(family: list[Style], place: int, taken: set[Style]) -> Style:
    """The variant number n of a family of one colour: in another shade, line and marker.

    A noisy dashed line looks solid, so that a line alone tells no variants apart. In grey it also
    differs from what is taken in other colours.
    """
    shades = _shades(family[0].colour)
    lines = [line for line in _VARIANTS if line not in {one.line for one in family}]
    marks = [mark for mark in _MARKERS if mark not in {one.marker for one in family}]
    line, grey = lines[place % len(lines)], {(one.line, one.marker, one.hollow) for one in taken}
    marks = marks[place % len(marks) :] + marks[: place % len(marks)]
    marker = next((mark for mark in marks if (line, mark, True) not in grey), marks[0])
    return Style(shades[place % len(shades)], line, marker, hollow=True)


def _shades(colour: str) -> list[str]:
    """Two shades that differ most from the colour in luminance, so that they do in grey too."""
    hue, _, full = rgb_to_hls(*to_rgb(colour))
    shades = [hls_to_rgb(hue, percent / 100, full) for percent in range(101)]
    apart = sorted(_LUMINANCES, key=lambda wanted: -abs(log(wanted / _luminance(to_rgb(colour)))))
    return [to_hex(min(shades, key=lambda x: abs(_luminance(x) - at))) for at in apart[:2]]


def _luminance(colour: tuple[float, float, float]) -> float:
    """From 0 to 1, as screens give it."""
    red, green, blue = (float(part**2.2) for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue

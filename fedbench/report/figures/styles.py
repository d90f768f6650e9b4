"""One style per method in all figures: colour, and line and marker for print in grey."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from matplotlib import colormaps
from matplotlib.colors import to_hex

from fedbench.paper.places import Level

Dashes = str | tuple[int, tuple[int, ...]]

# Okabe and Ito's palette; their black is a grey that can be read on a dark page, and their yellow
# is last and darker.
_BLUE, _RED, _GREEN, _PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
_SKY, _ORANGE, _OLIVE, _GREY = "#56B4E9", "#E69F00", "#B3A200", "#7A8290"
# Darker shades, for methods that meet one of the same colour.
_NAVY, _BROWN, _FOREST = "#003F66", "#8A3B00", "#005F46"
_COLOURS = (_BLUE, _RED, _GREEN, _PURPLE, _SKY, _ORANGE, _OLIVE)
_LONG: Dashes = (0, (7, 2))
_CHAIN: Dashes = (0, (3, 1, 1, 1, 1, 1))
_LINES: tuple[Dashes, ...] = ("-", "--", "-.", ":", _LONG)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_HATCHES: dict[Dashes, str] = {"-": "", "--": "//", ":": "..", "-.": "xx", _CHAIN: "++"}
# Lines of a method's variants, in the order in which they are met.
_VARIANTS: tuple[Dashes, ...] = (*(":", "-.", _LONG, _CHAIN, (0, (1, 3)), (0, (9, 2, 1, 2))),)


@dataclass(frozen=True)
class Style:
    """How a line is drawn; a variant of a method has its markers hollow."""

    colour: str
    line: Dashes
    marker: str
    hollow: bool = False

    @property
    def face(self) -> str:
        """The marker's filling."""
        return "none" if self.hollow else self.colour

    @property
    def hatch(self) -> str:
        """The pattern of a bar or box."""
        return _HATCHES.get(self.line, "\\\\")


# In each paper all colours differ, but for methods of one family; so do lines or markers in grey.
_METHODS = {
    "FedAvg": Style(_GREY, "-", "o"),
    "FedProx": Style(_ORANGE, "--", "s"),
    "FedDyn": Style(_GREEN, "-.", "^"),
    "FedNTD": Style(_PURPLE, ":", "D"),
    "MOON": Style(_SKY, _LONG, "X"),
    "FedADC": Style(_RED, "-", "*"),
    "FedRS": Style(_OLIVE, _CHAIN, "v"),
    "SlowMo": Style(_FOREST, "--", "<"),
    "FedGKD": Style(_BLUE, "-", "P"),
    "FedDistill+": Style(_GREEN, "-.", "^"),
    "FedGen": Style(_PURPLE, ":", "D"),
    "FedDF": Style(_OLIVE, "--", "v"),
    "FedExP": Style(_SKY, "-.", "X"),
    "FedGA": Style(_PURPLE, ":", "D"),
    "FedCM": Style(_BROWN, _LONG, "^"),
    "FedVARP": Style(_OLIVE, _CHAIN, "v"),
    "FedDPC": Style(_BLUE, "-", "P"),
    "FedSpeed": Style(_RED, _LONG, "v"),
    "FedDisco": Style(_SKY, "--", "X"),
    "FedSAM": Style(_OLIVE, _CHAIN, "P"),
    "MFL": Style(_BLUE, "-.", "^"),
    "RMFL": Style(_RED, "--", "s"),
    "SCAFFOLD": Style(_BLUE, "--", "v"),
    "MimeLite": Style(_SKY, "--", "D"),
    "FedNova": Style(_ORANGE, "--", "^"),
    "FedACG": Style(_PURPLE, "--", "s"),
    "FedAdagrad": Style(_OLIVE, "--", "o"),
    "FedAdam": Style(_RED, "--", "X"),
    "FedYogi": Style(_GREEN, "--", "P"),
}
# Variants that have a line of their own, whichever others are met.
_NAMED = {
    "FedADC blue": replace(_METHODS["FedADC"], colour=_NAVY, line="-.", hollow=True),
    "FedADC double": replace(_METHODS["FedADC"], colour=_OLIVE, line=":", hollow=True),
    "FedADC+": replace(_METHODS["FedADC"], line="--", hollow=True),
    "FedGKD+": replace(_METHODS["FedGKD"], line="--", hollow=True),
    "FedGKD-Vote": replace(_METHODS["FedGKD"], line="-.", marker="*", hollow=True),
    "FedLS-NTD": _METHODS["FedNTD"],
    "Two-sided FedAvg": replace(_METHODS["FedAvg"], line="--", hollow=True),
    **{
        f"{name}+ASD": replace(look, line="-" if look.line == "--" else "--", hollow=True)
        for name, look in _METHODS.items()
    },
}
_KNOWN = _METHODS | _NAMED


def style(place: int) -> Style:
    """The look at a place; 280 places differ."""
    return Style(
        _COLOURS[place % len(_COLOURS)],
        _LINES[place % len(_LINES)],
        _MARKERS[place % len(_MARKERS)],
    )


def styles(levels: Iterable[Level]) -> dict[Level, Style]:
    """A look for each level of a hue.

    Known methods have theirs; 'X, …', 'X (…)' and 'X+…' are X's with another line; other words take
    the next look that is free; numbers go from dark to light in their own order.
    """
    unique = list(dict.fromkeys(levels))
    if unique and not any(isinstance(level, str) for level in unique):
        return _ordered(sorted(unique, key=float))
    return _worded(unique)


def _ordered(numbers: list[Level]) -> dict[Level, Style]:
    """From dark to light, which grey keeps; both ends can be read on a white and a dark page."""
    shade, last = colormaps["viridis"], max(1, len(numbers) - 1)
    colours = [to_hex(shade(0.2 + 0.62 * i / last)) for i in range(len(numbers))]
    return {number: replace(style(i), colour=colours[i]) for i, number in enumerate(numbers)}


def _worded(levels: list[Level]) -> dict[Level, Style]:
    found = {level: _KNOWN[str(level)] for level in levels if str(level) in _KNOWN}
    free = (look for look in map(style, range(280)) if look not in _KNOWN.values())
    for level in (level for level in levels if level not in found):
        found[level] = _variant(str(level), set(found.values())) or next(free)
    return {level: found[level] for level in levels}


def _variant(name: str, taken: set[Style]) -> Style | None:
    """The look of the longest known method that the name begins with, in a line not yet taken."""
    bases = [known for known in _KNOWN if name.startswith((f"{known},", f"{known} ", f"{known}+"))]
    if not bases:
        return None
    look = replace(_KNOWN[max(bases, key=len)], hollow=True)
    used = {look.line, *(other.line for other in taken if other.colour == look.colour)}
    lines = [line for line in _VARIANTS if line not in used]
    return replace(look, line=lines[0] if lines else look.line)

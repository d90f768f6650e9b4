"""One look per method in all figures: colour, and line and marker for those who print in grey."""

from collections.abc import Iterable
from dataclasses import dataclass

# Okabe and Ito's palette, without black (the axes' colour) and with its yellow last and darker.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#B3A200")
_LINES = ("-", "--", "-.", ":", (0, (7, 2)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

# Known methods keep their place, and so their look, from paper to paper.
_ORDER = (
    "MFL", "RMFL", "FedAvg", "FedProx", "FedDyn", "FedADC", "FedADC+", "FedNTD", "FedGKD",
    "MOON", "FedRS", "SlowMo", "FedDPC", "FedExP", "FedVARP", "FedGA", "FedCM", "FedDisco",
    "FedSAM", "FedSpeed", "FedGKD+", "FedGKD-VOTE", "FedDistill+", "FedGen",
)  # fmt: skip


@dataclass(frozen=True)
class Style:
    """How a line is drawn."""

    colour: str
    line: str | tuple[int, tuple[int, ...]]
    marker: str


def style(place: int) -> Style:
    """The look at a place; 280 places differ."""
    return Style(
        _COLOURS[place % len(_COLOURS)],
        _LINES[place % len(_LINES)],
        _MARKERS[place % len(_MARKERS)],
    )


def styles(names: Iterable[str]) -> dict[str, Style]:
    """A look for each name: known methods have theirs, others the next after them, in order."""
    unique = list(dict.fromkeys(names))
    known = {name: _ORDER.index(name) for name in unique if name in _ORDER}
    others = [name for name in unique if name not in known]
    free = [i for i in range(len(_ORDER) + len(unique)) if i not in known.values()]
    return {name: style(place) for name, place in known.items()} | {
        name: style(place) for name, place in zip(others, free, strict=False)
    }

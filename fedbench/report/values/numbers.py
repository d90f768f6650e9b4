"""Numbers and axis names as text."""

import math

from fedbench.paper.places import Level
from fedbench.paper.places import level_text as level_text
from fedbench.report.values.metrics import Metric

UNTESTED = "not tested at this scale"
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_SYMBOLS = {
    "alpha": "α",
    "beta": "β",
    "delta": "δ",
    "gamma": "γ",
    "lam": "λ",
    "mu": "μ",
    "tau": "τ",
}

_TITLES = {"C": "Share of clients C", "participation": "Share of clients"}


def fixed(value: float | None, digits: int) -> str:
    """With so many decimals; a dash for nothing, words for what is not finite."""
    if value is None:
        return "–"
    return f"{value:.{digits}f}".replace("-", "−") if math.isfinite(value) else "not finite"


def signed(value: float, digits: int) -> str:
    """With its sign, also for a plus; zero has none."""
    text = fixed(abs(value), digits)
    if not math.isfinite(value) or float(text) == 0:
        return text
    return ("+" if value > 0 else "−") + text


def power(value: float) -> str:
    """A power of ten as such: 0.001 is 10⁻³."""
    return "10" + str(round(math.log10(value))).translate(_RAISED)


def axis_name(axis: str) -> str:
    """An axis as a heading: a Greek letter where it is one."""
    return _SYMBOLS.get(axis, axis)


def axis_title(axis: str) -> str:
    """An axis as the label of a figure's axis, in words where it has some."""
    return _TITLES.get(axis, axis_name(axis))


def level_name(axis: str, level: Level) -> str:
    """A level as a row or column heading."""
    if axis == "metric":
        return Metric(str(level)).label
    text = level_text(level)
    return text if isinstance(level, str) else text.replace("-", "−")


def point_name(axis: str, level: Level) -> str:
    """A level that needs its axis beside it: 'α = 0.1', but 'MNIST'."""
    text = level_name(axis, level)
    return text if isinstance(level, str) else f"{axis_name(axis)} = {text}"

"""Numbers, axes and levels as text."""

import math

from fedbench.paper.metrics import Metric
from fedbench.paper.yaml_notation import Level, level_text

UNTESTED = "not tested at this scale"
_LONG = 1e15  # what is larger is of a run that all but diverged
_DIGITS = {"points": 2, "%": 1, "rounds": 1}  # of an effect, by its unit
_GREEK = {"alpha": "α", "beta": "β", "delta": "δ", "gamma": "γ", "lam": "λ", "mu": "μ", "tau": "τ"}


def fixed(value: float | None, digits: int) -> str:
    """A number with so many decimals; a dash for None, words for NaN and a target never reached."""
    if value is None:
        return "–"
    if math.isinf(value):
        return "not reached"
    if math.isnan(value):
        return "not finite"
    text = f"{value:.{digits}f}" if abs(value) < _LONG else f"{value:.3g}"
    return text.replace("-", "−")


def with_deviation(mean: float | None, deviation: float | None, digits: int) -> str:
    """A mean and its standard deviation, if it has one: '61.20 ± 0.41'."""
    alone = deviation is None or math.isnan(deviation)
    return fixed(mean, digits) + ("" if alone else f" ± {fixed(deviation, digits)}")


def signed(value: float, digits: int) -> str:
    """A number with its sign, also a plus; zero has none."""
    text = fixed(abs(value), digits)
    if not math.isfinite(value) or float(text) == 0:
        return text
    return ("+" if value > 0 else "−") + text


def amount(value: float, unit: str, *, named: bool = True) -> str:
    """An effect with its sign and, where it is `named`, its unit: '+2.10 points'."""
    if not math.isfinite(value):
        return "not finite"
    if unit in _DIGITS:
        text = signed(value, _DIGITS[unit])
    else:
        text = format(value, "+,.0f" if abs(value) >= 1000 else "+.3g").replace("-", "−")
    return f"{text} {unit}" if unit and named else text


def short(value: float) -> float | None:
    """A number with four significant digits, as scripts draw it; None where it is not finite."""
    return float(f"{value:.4g}") if math.isfinite(value) else None


def thinned(number: int, most: int) -> list[int]:
    """The places of at most so many of some things: evenly spaced, the first and the last too."""
    if number <= most:
        return list(range(number))
    return [round(i * (number - 1) / (most - 1)) for i in range(most)]


def axis_name(axis: str) -> str:
    """An axis as a heading: 'alpha' is α."""
    return _GREEK.get(axis, axis)


def level_name(axis: str, level: Level) -> str:
    """A level as a row or column heading."""
    if axis == "metric":
        return Metric(str(level)).label
    text = level_text(level)
    return text if isinstance(level, str) else text.replace("-", "−")


def point_name(axis: str, level: Level) -> str:
    """A level, and its axis where the level is a number: 'α = 0.1', but 'MNIST'."""
    text = level_name(axis, level)
    return text if isinstance(level, str) else f"{axis_name(axis)} = {text}"

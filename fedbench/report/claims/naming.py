"""Points, sides of a comparison and units, in words."""

from fedbench.paper.places import level_text, reading
from fedbench.report.claims.source import Coords
from fedbench.report.values.metrics import Metric
from fedbench.report.values.numbers import point_name


def words(coords: Coords) -> str:
    """Levels as a reader expects them: 'CIFAR-10, α = 0.1, Accuracy at round 50'."""
    return ", ".join(_level(axis, coords) for axis in coords)


def member(x: Coords | float, named: frozenset[str]) -> str:
    """A point by the axes that tell it from others, or a threshold."""
    if isinstance(x, float):
        return level_text(x)
    return words({axis: level for axis, level in x.items() if axis in named})


def _level(axis: str, coords: Coords) -> str:
    if axis == "metric":
        return metric_name(str(coords[axis]))
    return str(coords[axis]) if axis == "method" else point_name(axis, coords[axis])


def metric_name(spelled: str) -> str:
    """A metric in words; 'final' is not said."""
    found = reading(spelled)
    name = found.metric if found.at == "final" else spelled
    return Metric(name).label.replace("/", ": ")


def unit_of(point: Coords) -> str:
    """What a difference of such values is in."""
    return "points" if Metric(str(point["metric"])).is_score else ""

"""Labels of a claim's cells and comparisons: points of a grid, sides and units in words."""

from fedbench.paper.metrics import Metric
from fedbench.paper.places import level_text, reading
from fedbench.report.claims.measured import Coords
from fedbench.report.values.numbers import point_name


def words(coords: Coords) -> str:
    """The levels of a point: 'CIFAR-10, α = 0.1, Accuracy at round 50'."""
    return ", ".join(_level(axis, coords) for axis in coords)


def member(x: Coords | float, named: frozenset[str]) -> str:
    """One side of a comparison: a point, by the axes `named` alone, or a threshold."""
    if isinstance(x, float):
        return level_text(x)
    return words({axis: level for axis, level in x.items() if axis in named})


def _level(axis: str, coords: Coords) -> str:
    if axis == "metric":
        return metric_name(str(coords[axis]))
    return str(coords[axis]) if axis == "method" else point_name(axis, coords[axis])


def metric_name(spelled: str) -> str:
    """A metric in words: 'accuracy@best' is 'Accuracy, best'; the moment 'final' is not said."""
    asked = reading(spelled)
    name = asked.metric if asked.at == "final" else spelled
    return Metric(name).label.replace("/", ": ")


def unit_of(point: Coords) -> str:
    """The unit of a difference of values at that point; empty where it has no name."""
    return Metric(str(point["metric"])).unit_of_differences

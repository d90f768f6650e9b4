"""Moves points that would hide each other to the side, as in a swarm of bees."""

from collections.abc import Iterator, Sequence

At = tuple[float, float]
_WIDE, _HIGH = 0.018, 0.022  # shares of the ranges: points that are nearer hide each other


def side_by_side(points: Sequence[At], fixed: Sequence[At]) -> list[float]:
    """Where each point stands along the bottom: at its place, or beside it if another is there.

    `fixed` are further points, which stay where they are.
    """
    everything = [*fixed, *points]
    wide = _WIDE * _range([x for x, _ in everything])
    high = _HIGH * _range([y for _, y in everything])
    taken = [*fixed]
    for x, y in points:
        near = [at for at, other in taken if abs(other - y) < high]
        taken.append((next(at for at in _places(x, wide) if _is_free(at, near, wide)), y))
    return [x for x, _ in taken[len(fixed) :]]


def _range(numbers: Sequence[float]) -> float:
    return max(numbers, default=0.0) - min(numbers, default=0.0) or 1.0


def _places(x: float, step: float) -> Iterator[float]:
    """x, then by turns on its right and on its left, further and further away."""
    yield x
    away = step
    while True:
        yield x + away
        yield x - away
        away += step


def _is_free(at: float, near: Sequence[float], wide: float) -> bool:
    almost = 0.99 * wide  # neighbours are a step apart, but for rounding
    return all(abs(at - x) >= almost for x in near)

"""The sides of a claim: the levels, or the number, that are compared."""

from fedbench.paper.places import Where

Side = float | str | tuple[str, ...] | Where
OTHERS = "others"


def check_sides(first: Side, second: Side, relative: bool = False, *, numbers: bool = True) -> None:
    """Refuse a claim of which no side names a level: two numbers, or 'others' beside a number.

    numbers: whether one of the sides may be a number.
    """
    if not where_of(first) and not where_of(second):
        raise ValueError(f"one of {first!r} and {second!r} must name levels")
    for side in (first, second):
        if not numbers and isinstance(side, float):
            raise ValueError(f"{side:g} is not allowed: both sides must name levels")
    if relative and isinstance(second, float):
        raise ValueError(f"a difference relative to {second:g} is not defined; name a level")


def where_of(side: Side | None) -> Where:
    """The levels that a side names, by axis: 'A' is {method: A}; a number or 'others' is {}."""
    if side is None or isinstance(side, float) or side == OTHERS:
        return {}
    return side if isinstance(side, dict) else {"method": side}

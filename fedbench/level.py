"""Levels of a grid's axes, places in it, and levels that a star stands for."""

Level = str | int | float
Where = dict[str, Level | tuple[Level, ...]]


def as_tuple(levels: Level | tuple[Level, ...]) -> tuple[Level, ...]:
    """One level or several, as several."""
    return levels if isinstance(levels, tuple) else (levels,)


def stems(pattern: Level | tuple[Level, ...], levels: tuple[Level, ...]) -> list[str]:
    """What the star of a pattern stands for: FedAvg, for '*+ASD' among FedAvg and FedAvg+ASD."""
    if not has_star(pattern):
        return []
    head, _, tail = str(pattern).partition("*")
    size = len(head) + len(tail)
    fitting = [x for x in map(str, levels) if x.startswith(head) and x.endswith(tail)]
    return [x[len(head) : len(x) - len(tail)] for x in fitting if len(x) > size]


def has_star(level: Level | tuple[Level, ...]) -> bool:
    """Whether it is a pattern."""
    return isinstance(level, str) and level.count("*") == 1


def level_text(level: Level) -> str:
    """A level as written: 0.1, 1, a name."""
    return f"{level:g}" if isinstance(level, float) else str(level)

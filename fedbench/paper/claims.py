"""What a claim may say: a sentence of the paper as a comparison that code can judge."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from fedbench.base.checks import NonNegative, Positive, Strict
from fedbench.paper.yaml_notation import Level, Where, as_tuple

Named = str | tuple[str, ...] | Where  # levels
Side = float | Named  # what is compared
OTHERS = "others"
_SIDES = ("winner", "loser", "of", "to", "minus")


class Said(Strict):
    """What all claims have: the words, and whose they are."""

    text: Annotated[str, Field(min_length=1)]
    """What the paper says, in short, and where; or what is ours."""
    ours: bool = False
    """true: the claim is not the paper's; it is counted and shown apart."""
    shown_in: tuple[str, ...] = ()
    """The tables and figures that show what is claimed, beside the claim's own table; its page
    leads to them. A claim that joins others leads to theirs, unless it names its own."""
    negate: bool = False
    """true: the claim is that this does not hold."""
    wants: str = ""
    """What a fair test still lacks: the claim is not tested, and this is the reason."""
    reading: str = ""
    """What of the paper we had to guess, such as 'equation 3': the verdict is labelled as one on
    our reading, and counted apart."""


class Statement(Said):
    """What all comparisons have: the numbers that are compared."""

    table: str = ""
    """The table whose numbers are compared; a claim names either a table or a grid."""
    grid: str = ""
    """The grid whose runs are compared; a claim names either a table or a grid."""
    where: Where = Field(default_factory=dict)
    """Compares only these levels: {alpha: 0.1, dataset: [MNIST, CIFAR-10]}."""
    metrics: tuple[str, ...] = ()
    """What is compared: those of the table, or accuracy, unless others are named here."""
    cells: Literal["every", "most", "mean"] | Annotated[int, Field(ge=1)] = "every"
    """Where it must hold: in every cell, in most, for their mean, or in so many at least."""

    def sides(self) -> list[tuple[str, Side]]:
        """The fields that name levels, each with what it names."""
        named = [(name, getattr(self, name, None)) for name in _SIDES]
        return [(name, side) for name, side in named if side is not None]

    def named(self) -> dict[str, Where]:
        """The levels by axis that each of its fields names."""
        sides = {name: where_of(side) for name, side in self.sides()}
        return {"where": self.where, **sides, "along": getattr(self, "along", {})}

    def measured(self) -> Iterator[str]:
        """The metrics that it names itself, as such or as levels of the axis `metric`."""
        yield from self.metrics
        for levels in self.named().values():
            yield from map(str, as_tuple(levels.get("metric", ())))


class Contest(Statement):
    """What all claims have that one side does better than another."""

    winner: Side
    """Who is better, varies less or is faster: a level of `method`, a list of them, levels by axis,
    or in a claim of the kind `greater` a number, in percent of a score as in `target`."""
    loser: Side = OTHERS
    """Who is not: as `winner`, or 'others' for all other levels of the axes that it names."""


class Greater(Contest):
    """The winner is better than the loser by more than `by`."""

    kind: Literal["greater"]
    """The winner is better than the loser."""
    by: float = 0.0
    """By more than how much the winner is better; below 0: it may be worse by up to this size."""
    margin: NonNegative = 0.0
    """By how much the size `by` may be missed."""
    place: Annotated[int, Field(ge=1)] = 1
    """The rank that the winner reaches at least: with 2, one of several losers may be ahead of it;
    a single loser may not."""
    winners: Literal["each", "one"] = "each"
    """Of several winners, whether each must be better or one is enough."""
    wins: Literal["high", "low"] | None = None
    """Which values are better, if it is not those that the metric itself declares."""
    relative: bool = False
    """true: `by` and `margin` are in percent of the loser's value."""


class Equal(Statement):
    """Two values differ by less than the margin in either direction: two one-sided tests."""

    kind: Literal["equal"]
    """The two differ by less than the margin."""
    of: Side
    """The first: a level of `method`, a list of them, levels by axis, or a number."""
    to: Side = OTHERS
    """The second: as `of`, or 'others' for all other levels of the axes that it names."""
    margin: Positive
    """The difference that is too large."""
    relative: bool = False
    """true: the margin is in percent of the second value."""


class Trend(Statement):
    """A value, or the difference of two values, rises along some levels.

    A side that names several levels stands for the best of them, seed by seed.
    """

    kind: Literal["trend"]
    """The value rises along these levels."""
    along: Annotated[dict[str, tuple[Level, ...]], Field(min_length=1)]
    """The levels along which it rises, by axis; the n-th levels of several axes belong together."""
    of: Named | None = None
    """Whose value rises: a level of `method`, a list, levels by axis; else every cell's."""
    minus: Named | None = None
    """Whose value is subtracted, so that the gap between the two must rise."""
    steps: Literal["each", "overall"] = "each"
    """Whether the value rises at each step, or overall: on a straight line fitted to the levels as
    equal steps."""
    by: float = 0.0
    """By more than how much: at each step, or overall from the first level to the last."""


class Spread(Contest):
    """The winner's standard deviation over the seeds is smaller."""

    kind: Literal["spread"]
    """The winner's standard deviation over the seeds is smaller."""


class Earlier(Contest):
    """The winner needs fewer rounds to reach an accuracy."""

    kind: Literal["earlier"]
    """The winner needs fewer rounds."""
    target: Annotated[float, Field(gt=0, le=100)] | None = None
    """The accuracy to reach, in percent; the other's best accuracy if it is not given."""


class Slope(Statement):
    """The metric, a slope that a probe wrote, is above zero or below it."""

    kind: Literal["slope"]
    """The metric is above or below zero."""
    of: Named
    """Whose slope: a level of `method`, a list of them, or levels by axis."""
    goes: Literal["up", "down"]
    """up: the slope is above zero; down: it is below zero."""


class Together(Said):
    """Several claims of the same paper hold: all of them, or one."""

    kind: Literal["together"]
    """Several of these claims hold."""
    claims: Annotated[tuple[str, ...], Field(min_length=2)]
    """The names of the claims."""
    need: Literal["all", "one"] = "all"
    """How many must hold; `one` is for readings of one sentence, which then counts once."""

    @property
    def least(self) -> int:
        """How many of the claims must hold."""
        return 1 if self.need == "one" else len(self.claims)


SingleClaim = Greater | Equal | Trend | Spread | Earlier | Slope
Claim = Annotated[SingleClaim | Together, Field(discriminator="kind")]


def where_of(side: Side | None) -> Where:
    """The levels that a side names, by axis: 'A' is {method: A}; a number or 'others' is {}."""
    if side is None or isinstance(side, float) or side == OTHERS:
        return {}
    return side if isinstance(side, dict) else {"method": side}


def faults(claim: SingleClaim) -> Iterator[str]:
    """Why no grid could have what is compared."""
    if bool(claim.table) == bool(claim.grid):
        yield "a claim names either a table or a grid"
    no_mean = isinstance(claim, Spread | Earlier) or getattr(claim, "relative", False)
    if claim.cells == "mean" and no_mean:
        told = "cells: mean is not defined for deviations, rounds and shares"
        yield f"{told}; use every, most or a number"
    of_metrics = [field for field, levels in claim.named().items() if "metric" in levels]
    if "where" in of_metrics and len(of_metrics) > 1:
        yield "where.metric: what the claim compares names metrics itself; leave it out"
    match claim:
        case Trend():
            sizes = [len(levels) for levels in claim.along.values()]
            if min(sizes) < 2 or min(sizes) < max(sizes):
                yield "along: each axis needs the same number of levels, two or more"
            if claim.of == OTHERS or (claim.minus is not None and claim.of is None):
                yield "of: name the levels that `minus` is subtracted from; 'others' is not allowed"
        case Slope():
            yield from _faults_of_slope(claim)
        case _:
            yield from _faults_of_sides(claim)


def _faults_of_slope(claim: Slope) -> Iterator[str]:
    if not where_of(claim.of):
        yield "of: 'others' is not allowed; name the levels"
    if not claim.metrics:
        yield "metrics: name the slopes that the claim is about"
    for metric in claim.metrics:
        if "slope" not in metric:
            yield f"metrics: '{metric}' is not a slope; 'slope' must be in its name"


def _faults_of_sides(claim: Greater | Spread | Earlier | Equal) -> Iterator[str]:
    (_, first), (_, second) = claim.sides()
    if not where_of(first) and not where_of(second):
        yield f"one of {first!r} and {second!r} must name levels"
    if isinstance(claim, Greater | Equal) and claim.relative and isinstance(second, float):
        yield f"a difference relative to {second:g} is not defined; name a level"
    for side in (first, second) if isinstance(claim, Spread | Earlier) else ():
        if isinstance(side, float):
            yield f"{side:g} is not allowed: both sides must name levels"
    if isinstance(claim, Greater) and claim.margin and claim.margin >= abs(claim.by):
        told = f"it must be below the size `by`, which is {claim.by:g}"
        yield f"margin = {claim.margin:g} is not allowed: {told}"

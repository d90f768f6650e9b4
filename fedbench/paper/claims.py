"""What a claim may say: a sentence of the paper as a comparison that code can judge.

For who writes a paper's YAML. A claim compares numbers of a `table` (its place, metrics, moment and
repeats are taken over) or of a `grid`. What the sides do not name is spanned: each combination of
the levels of the other axes, and each metric, is a cell, and `cells` says in how many of them the
comparison must hold (every | most | mean | a number). `where` leaves cells out.

    best:
      text: FedADC+ is the best in all six settings (Section V, Table I).
      table: table1
      kind: greater
      winner: FedADC+     # a level of method; [A, B]: each of them; {alpha: 1, method: A}: a place
      loser: others       # all other levels of the winner's axes; controls are never among them

kind     fields                      says
greater  winner, loser               the winner is better, by more than `by` points, which may be
                                     missed by `margin`; `place: 2`: one rival may be ahead;
                                     `winners: one`: it is enough that one of the winners is; a
                                     number as a side is a threshold
order    order: [A, B, C]            each is better than the next
equal    of, to, margin              the two differ by less than the margin
trend    along: {K: [500, 100]}      the value rises along these levels, at each step or (`steps:
                                     overall`) in a straight line through all; {a: [1, 2],
                                     C: [.1, .2]} are the places (1, .1), (2, .2). With `of` and
                                     `minus` it is the difference that rises: a gap that grows
spread   winner, loser               the winner's standard deviation over the seeds is smaller
earlier  winner, loser               rounds to the loser's best accuracy, or to `target`
slope    of, goes: up | down         the metric, a slope that a probe wrote, is above or below zero
together claims: [a, b]              these claims hold, all of them

Any of them may say `negate: true`: the claim is that this does not hold. Of several cells or steps
it is then enough that it fails in one; with `cells: 1` it must fail in every one.

Printed sizes, one rule for all papers: a size that the text prints is tested as a size. `by` is the
printed size. Where the text says 'around' or 'about', or speaks of a whole curve, `margin` is a
quarter of the size, and the claim's text says that the margin is ours. 'Up to x' is `by: x` with
`cells: 1`.
A claim that is ours and not the paper's begins its text with 'Ours: '.

A claim that is wrong holds with a probability of 5 % at most, and one that is right fails with 5 %
at most, over all its comparisons: `fedbench.report.claims.tree` says how.

Better is more, and less for losses, seconds, eigenvalues; `wins: low` or `high` says otherwise.
How much a curve varies, 'accuracy@std' and 'accuracy@jumps', is better low.
Differences are in percentage points for accuracy and F1, in percent of the loser's value where
`relative` is true, else in the metric's own unit.

A star pairs levels: winner '*+ASD', loser '*' compares FedAvg+ASD with FedAvg, FedDyn+ASD with
FedDyn and so on. `metric` is an axis too: winner {metric: accuracy@best}, loser {metric: accuracy}.
A metric 'probe/column' is the mean of a column of the table that a probe wrote, whose other columns
may be named like axes: metrics [gradients/cosine], along {step: [30, 20, 10, 1]}. A moment may
look at the last N evaluated rounds alone: accuracy@mean:10, accuracy@std:50 (see
`fedbench.paper.places`).
"""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from fedbench.base.strict import Strict
from fedbench.paper.places import Level, Where, reading

Number = Annotated[float, Field(allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Side = float | str | tuple[str, ...] | Where
Places = Annotated[dict[str, tuple[Level, ...]], Field(min_length=1)]
OTHERS = "others"


class Statement(Strict):
    """What all kinds say: the paper's words in short and where they stand; which numbers.

    One of `table` and `grid`; metrics are the table's, or accuracy, unless they are named.
    `cells`: in every cell, in more than half, on average, or in so many. `negate`: the claim is
    that this does not hold.
    """

    text: Annotated[str, Field(min_length=1)]
    table: str = ""
    grid: str = ""
    where: Where = Field(default_factory=dict)
    metrics: tuple[str, ...] = ()
    cells: Literal["every", "most", "mean"] | Annotated[int, Field(ge=1)] = "every"
    negate: bool = False

    @model_validator(mode="after")
    def _one_source(self) -> "Statement":
        if bool(self.table) == bool(self.grid):
            raise ValueError("a claim names either a table or a grid")
        for metric in self.metrics:
            reading(metric)
        return self

    def sides(self) -> Iterator[tuple[str, Side]]:
        """Fields that name places, with what they name."""
        for name in ("winner", "loser", "of", "to", "minus"):
            side = getattr(self, name, None)
            if side is not None:
                yield name, side


class Greater(Statement):
    """The winner is better than the loser by more than `by` (negative: not worse by more).

    `margin`: by how much a printed size `by` may be missed.
    """

    kind: Literal["greater"]
    winner: Side
    loser: Side = OTHERS
    by: Number = 0.0
    margin: NotNegative = 0.0
    place: Annotated[int, Field(ge=1)] = 1
    winners: Literal["each", "one"] = "each"
    wins: Literal["high", "low"] | None = None
    relative: bool = False

    @model_validator(mode="after")
    def _two_sides(self) -> "Greater":
        check_sides(self.winner, self.loser, self.relative)
        if self.margin and self.margin >= abs(self.by):
            raise ValueError(
                f"margin = {self.margin:g} is not allowed: it must be below the size `by`, which "
                f"is {self.by:g}"
            )
        return self


class Order(Statement):
    """From the best to the worst, each better than the next."""

    kind: Literal["order"]
    order: Annotated[tuple[str | Where, ...], Field(min_length=2)]
    wins: Literal["high", "low"] | None = None

    def sides(self) -> Iterator[tuple[str, Side]]:
        """Every member."""
        yield from (("order", side) for side in self.order)


class Equal(Statement):
    """The two differ by less than the margin, up or down: two one-sided tests."""

    kind: Literal["equal"]
    of: Side
    to: Side = OTHERS
    margin: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    relative: bool = False

    @model_validator(mode="after")
    def _two_sides(self) -> "Equal":
        check_sides(self.of, self.to, self.relative)
        return self


class Trend(Statement):
    """A value, or the difference of two, rises along some places by more than `by`.

    A side that names several places stands for the best of them, seed by seed. `by` is for each
    step, or from the first place to the last on the straight line.
    """

    kind: Literal["trend"]
    along: Places
    of: str | tuple[str, ...] | Where | None = None
    minus: str | tuple[str, ...] | Where | None = None
    steps: Literal["each", "overall"] = "each"
    by: Number = 0.0

    @model_validator(mode="after")
    def _places(self) -> "Trend":
        sizes = {len(levels) for levels in self.along.values()}
        if len(sizes) != 1 or min(sizes) < 2:
            raise ValueError("along: each axis needs the same number of levels, two or more")
        if (self.minus is not None and self.of is None) or self.of == OTHERS:
            raise ValueError("of: what is `minus` subtracted from? name it; it cannot be 'others'")
        return self


class Spread(Statement):
    """The winner's standard deviation over the seeds is smaller than the loser's."""

    kind: Literal["spread"]
    winner: Side
    loser: Side = OTHERS

    @model_validator(mode="after")
    def _two_sides(self) -> "Spread":
        check_sides(self.winner, self.loser)
        return self


class Earlier(Statement):
    """The winner needs fewer rounds to `target` percent, or else to the loser's best accuracy."""

    kind: Literal["earlier"]
    winner: Side
    loser: Side = OTHERS
    target: Annotated[float, Field(gt=0, le=100)] | None = None

    @model_validator(mode="after")
    def _two_sides(self) -> "Earlier":
        check_sides(self.winner, self.loser)
        return self


class Slope(Statement):
    """The metric, a slope that a probe wrote, is above zero or below it."""

    kind: Literal["slope"]
    of: str | tuple[str, ...] | Where
    goes: Literal["up", "down"]

    @model_validator(mode="after")
    def _a_slope(self) -> "Slope":
        if not where_of(self.of):
            raise ValueError("of: it cannot be 'others'; name the levels")
        for metric in self.metrics:
            if "slope" not in metric:
                raise ValueError(f"metrics: '{metric}' is no slope that could be above zero")
        return self


class Together(Strict):
    """Several claims of the same paper, all of which hold; with `negate` not all of them."""

    text: Annotated[str, Field(min_length=1)]
    kind: Literal["together"]
    claims: Annotated[tuple[str, ...], Field(min_length=2)]
    negate: bool = False


SingleClaim = Greater | Order | Equal | Trend | Spread | Earlier | Slope
Claim = Annotated[SingleClaim | Together, Field(discriminator="kind")]


def check_sides(first: Side, second: Side, relative: bool = False) -> None:
    """Refuse a claim whose sides do not name any level: two numbers, 'others' of a number."""
    if not where_of(first) and not where_of(second):
        raise ValueError(f"one of {first!r} and {second!r} must name levels")
    if relative and isinstance(second, float):
        raise ValueError(f"a difference relative to {second:g} is not defined; name a level")


def where_of(side: Side | None) -> Where:
    """A side as a place: 'A' is {method: A}; a number, 'others' and nothing are none."""
    if side is None or isinstance(side, float) or side == OTHERS:
        return {}
    return side if isinstance(side, dict) else {"method": side}

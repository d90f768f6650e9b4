"""What a paper's YAML file lists: grids of runs, tables, figures and facts."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from fedbench.base import registry
from fedbench.base.strict import Strict
from fedbench.paper.levels import Settings
from fedbench.paper.places import Level as Level
from fedbench.paper.places import Where as Where
from fedbench.paper.places import reading
from fedbench.spec import Choice


class Case(Strict):
    """Settings that hold only where some axes have certain levels: 'FedGKD with M = 7 on …'.

    A setting may name a part's parameter ('asd.lam': 20).
    """

    where: Where
    settings: Settings


class Grid(Strict):
    """All combinations of some axes' levels, each with every seed.

    `settings` win over those of the paper and of the levels, but may not overwrite what the levels
    of an axis differ in. `without` leaves out the points that match any of its entries; `cases`
    change the settings of those that match, in order, last of all.
    """

    axes: dict[str, tuple[Level, ...]]
    seeds: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)]
    settings: Settings = Field(default_factory=dict)
    without: tuple[Where, ...] = ()
    cases: tuple[Case, ...] = ()


class Table(Strict):
    """A table: rows × columns of a grid, one or more metrics, at one point of the history.

    rows and columns name axes of the grid, or 'metric'; `at` is 'final', 'best' or a round, unless
    a metric names its own ('accuracy@best').
    `controls` are levels of the method axis that the paper does not print. Axes in `over` count as
    repeats, like seeds. `minus`: each number less that of the same seed at these levels, a gain.
    `printed`: the table whose printed numbers stand beside, its own if empty; for a table that
    shows the cells of another with more seeds.
    """

    title: str
    caption: str = ""
    grid: str
    where: Where = Field(default_factory=dict)
    over: tuple[str, ...] = ()
    minus: dict[str, Level] = Field(default_factory=dict)
    rows: tuple[str, ...]
    columns: tuple[str, ...] = ("method",)
    metrics: Annotated[tuple[str, ...], Field(min_length=1)] = ("accuracy",)
    at: Literal["final", "best"] | Annotated[int, Field(ge=1)] = "final"
    unit: Literal["percent", "fraction"] = "percent"
    digits: Annotated[int, Field(ge=0, le=10)] = 2
    printed: str = ""
    controls: tuple[Level, ...] = ()

    @model_validator(mode="after")
    def _known_moments(self) -> "Table":
        for metric in self.metrics:
            reading(metric)
        return self


class Figure(Strict):
    """A figure of a grid's runs: a panel a point of `panels`, a look a level of `hue`.

    `kind` is a file in `fedbench/report/kinds` with its options: {curves: {smooth: 10}}. Several
    metrics need 'metric' among the panels or as the hue.
    """

    title: str
    caption: str = ""
    kind: Choice = Choice(name="curves")
    grid: str
    where: Where = Field(default_factory=dict)
    panels: tuple[str, ...] = ()
    hue: str = "method"
    metric: str | tuple[str, ...] = "accuracy"

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics drawn, one or more."""
        return (self.metric,) if isinstance(self.metric, str) else self.metric

    @model_validator(mode="after")
    def _known_kind(self) -> "Figure":
        registry.require_known("figure", self.kind.name, self.kind.params)
        for metric in self.metrics:
            reading(metric)
        if len(self.metrics) != 1 and "metric" not in (*self.panels, self.hue):
            raise ValueError("several metrics need 'metric' among the panels or as the hue")
        return self


class Facts(Strict):
    """A table that no run is needed for: declared costs, traits of methods, sizes of models.

    `kind` is a file in `fedbench/report/facts` with its options.
    """

    title: str
    caption: str = ""
    kind: Choice

    @model_validator(mode="after")
    def _known_kind(self) -> "Facts":
        registry.require_known("facts", self.kind.name, self.kind.params)
        return self

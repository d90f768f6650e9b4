"""What a paper's YAML file lists: grids of runs, tables, figures, and tables of facts."""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from fedbench.base.checks import Natural, Strict
from fedbench.paper.axis_levels import Settings
from fedbench.paper.yaml_notation import Level, Where
from fedbench.spec import Choice
from fedbench.spec.compositions import every_method


class Case(Strict):
    """Settings of some points of a grid only, such as 'FedGKD has M = 7 on CIFAR-100'."""

    where: Where
    """The points meant, as levels by axis: {dataset: CIFAR-100, method: [FedAvg, FedDyn]}."""
    settings: Settings
    """The settings there: fields of a run, or a part's parameter (`asd.lam: 20`)."""


Several = Annotated[tuple[Level, ...], Field(min_length=1)]
Axes = dict[str, Several]


class Grid(Strict):
    """Runs to train: all combinations of the levels of some axes, each with every seed."""

    axes: Axes
    """What varies, such as `dataset`, `alpha` or `method`, and the levels that each axis takes;
    `method: every` takes all named methods, and the methods in your own folder."""
    seeds: Annotated[tuple[Natural, ...], Field(min_length=1)]
    """Each combination is trained once with each of these seeds."""
    settings: Settings = Field(default_factory=dict)
    """Settings of all runs of this grid. They win over those of the paper and of the levels, but
    may not overwrite what the levels of an axis differ in."""
    without: tuple[Where, ...] = ()
    """Combinations to leave out: those that match any of these entries."""
    cases: tuple[Case, ...] = ()
    """Changes to the settings of some combinations, made in this order and after all others."""
    main_parameters: bool = False
    """true: searches try, beside their own values, those of each named method's main parameter
    (`search` in fedbench/spec/compositions.yaml)."""

    @field_validator(
        "axes", mode="before", json_schema_input_type=dict[str, Several | Literal["every"]]
    )
    @classmethod
    def _spell_out_methods(cls, axes: Any) -> Any:
        if isinstance(axes, dict) and axes.get("method") == "every":
            return axes | {"method": tuple(every_method())}
        return axes


class Item(Strict):
    """What all tables and figures have."""

    title: str
    """Its name in the paper, such as 'Table 2', or what it shows."""
    caption: str = ""
    """What it shows, as plain text. In both `{rounds}` stands for the rounds that its runs have at
    the scale."""


class ItemOfRuns(Item):
    """What all tables and figures of runs have."""

    grid: str
    """The grid whose runs it shows."""
    where: Where = Field(default_factory=dict)
    """Shows only these levels of the grid: {alpha: 0.1, method: [FedAvg, FedDyn]}."""
    over: tuple[str, ...] = ()
    """Axes over whose levels the mean is taken, as it is over seeds."""


class Table(ItemOfRuns):
    """A table of a grid's runs: mean and standard deviation over the seeds, in rows and columns."""

    minus: dict[str, Level] = Field(default_factory=dict)
    """Shows gains: from each number, that of the same seed at these levels is subtracted."""
    rows: tuple[str, ...]
    """The axes of the grid that make the rows; 'metric' counts as an axis."""
    columns: tuple[str, ...] = ("method",)
    """The axes of the grid that make the columns; 'metric' counts as an axis."""
    metrics: Annotated[tuple[str, ...], Field(min_length=1)] = ("accuracy",)
    """What is shown: columns of the history, each at the moment that it names, if any
    ('accuracy@best', 'accuracy@mean:10', 'accuracy@50')."""
    at: Literal["final", "best"] | Annotated[int, Field(ge=1)] = "final"
    """The moment of the metrics that name none: the last round, the best, or this round."""
    unit: Literal["percent", "fraction"] = "percent"
    """How accuracies and F1 scores are shown: as percent (81.2) or as fractions (0.812)."""
    digits: Annotated[int, Field(ge=0, le=10)] = 2
    """Digits after the decimal point."""
    order: Literal["as listed", "best first"] = "as listed"
    """The order of the methods: as the grid lists them, or the best first by the table's first
    metric, in each group of rows apart; those with fewer settings than others come last."""
    ranks: Literal["means", "seeds"] = "means"
    """What the diagram of mean ranks ranks: the methods' means over the seeds in each setting, or,
    where there are few settings, their values with each seed of each setting. With the latter each
    group of rows has a diagram of its own too."""
    printed: str = ""
    """The table of this paper whose printed numbers stand beside the measured ones, if it is not
    this table: for one that shows the cells of another, with more seeds."""
    controls: tuple[Level, ...] = ()
    """Levels of the axis `method` that the paper does not print; their rows are marked."""


class Figure(ItemOfRuns):
    """A figure of a grid's runs: one panel per point of `panels`, one style per level of `hue`."""

    kind: Choice = Choice(name="curves")
    """The kind of figure, with its options: {curves: {smooth: 10}}. Each is a class in
    `fedbench/report/kinds`."""
    panels: tuple[str, ...] = ()
    """The axes that make the panels, one panel per combination of their levels."""
    hue: str = "method"
    """The axis whose levels differ in colour and line style."""
    metric: str | tuple[str, ...] = "accuracy"
    """What is drawn: a column of the history, or several, which need 'metric' among the panels or
    as the hue."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics drawn, one or more."""
        return (self.metric,) if isinstance(self.metric, str) else self.metric


class Facts(Item):
    """A table that needs no run: declared costs, traits of methods, sizes of models."""

    kind: Choice
    """The kind of table, with its options: {costs: {methods: [FedAvg]}}. Each is a class in
    `fedbench/report/facts`."""

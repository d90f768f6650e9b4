"""What a paper's YAML file may say: grids of runs, the tables and figures drawn from them."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from fedbench import registry
from fedbench.claim import Claim
from fedbench.claim_names import check_claims
from fedbench.errors import FedbenchError, unknown
from fedbench.level import Level as Level
from fedbench.level import Where as Where
from fedbench.levels import Settings, known_levels, refuse_flattening
from fedbench.reading import reading
from fedbench.spec import Choice, RunSpec
from fedbench.strict import Strict
from fedbench.yamlfile import load


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
    seeds: Annotated[tuple[int, ...], Field(min_length=1)]
    settings: Settings = Field(default_factory=dict)
    without: tuple[Where, ...] = ()
    cases: tuple[Case, ...] = ()


class Table(Strict):
    """A table: rows × columns of a grid, one or more metrics, at one point of the history.

    rows and columns name axes of the grid, or 'metric'; `at` is 'final', 'best' or a round, unless
    a metric names its own ('accuracy@best').
    `controls` are levels of the method axis that the paper does not print. Axes in `over` count as
    repeats, like seeds. `minus`: each number less that of the same seed at these levels, a gain.
    """

    title: str
    caption: str = ""
    grid: str
    where: Where = Field(default_factory=dict)
    over: tuple[str, ...] = ()
    minus: dict[str, Level] = Field(default_factory=dict)
    rows: tuple[str, ...]
    columns: tuple[str, ...] = ("method",)
    metrics: tuple[str, ...] = ("accuracy",)
    at: Literal["final", "best"] | int = "final"
    unit: Literal["percent", "fraction"] = "percent"
    digits: int = 2
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
        registry.check("figure", self.kind.name, self.kind.params)
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
        registry.check("facts", self.kind.name, self.kind.params)
        return self


class Paper(Strict):
    """A paper: what all its runs share, what each level of an axis stands for, and its results.

    `levels` says which settings a level of an axis stands for: `{label: settings}`, or
    `{each: settings}` where '$' is the level itself. A setting may name a part's parameter
    (`asd.tau: $`), whichever axis names the parts. A level of the axis `method` that is not among
    them is a named method (`fedbench list methods`). An axis without levels is a field of RunSpec.
    `always` are parts that stand before those of every method.
    """

    title: str
    authors: str
    settings: Settings = Field(default_factory=dict)
    always: tuple[Choice, ...] = ()
    levels: dict[str, dict[Level, Settings]] = Field(default_factory=dict)
    grids: dict[str, Grid]
    tables: dict[str, Table] = Field(default_factory=dict)
    figures: dict[str, Figure] = Field(default_factory=dict)
    facts: dict[str, Facts] = Field(default_factory=dict)
    claims: dict[str, Claim] = Field(default_factory=dict)
    deviations: tuple[str, ...] = ()

    def items(self) -> list[tuple[str, Table | Figure]]:
        """Tables, then figures, by key."""
        return [*self.tables.items(), *self.figures.items()]

    @model_validator(mode="after")
    def _known_names(self) -> "Paper":
        for name, grid in self.grids.items():
            for axis, labels in grid.axes.items():
                _check_axis(f"grids.{name}.axes", axis, labels, self.levels)
            _check_places(name, grid)
            refuse_flattening(f"grids.{name}", grid.settings, grid.axes, self.levels)
        for name, item in self.items():
            _check_item(f"{type(item).__name__.lower()}s.{name}", item, self.grids)
        check_claims(self)
        return self


def _check_axis(
    place: str, axis: str, labels: tuple[Level, ...], levels: dict[str, dict[Level, Settings]]
) -> None:
    known = known_levels(axis, levels)
    if known is None:
        if axis not in RunSpec.model_fields:
            raise FedbenchError(
                f"{place}: {unknown('axis', axis, [*levels, *RunSpec.model_fields])}"
            )
        return
    for label in labels:
        if "each" not in known and label not in known:
            raise FedbenchError(f"{place}.{axis}: {unknown('level', label, map(str, known))}")


def _check_places(name: str, grid: Grid) -> None:
    wheres = [*grid.without, *(case.where for case in grid.cases)]
    for axis in (axis for where in wheres for axis in where):
        if axis not in grid.axes:
            raise FedbenchError(f"grids.{name}: {unknown('axis', axis, grid.axes)}")


def _check_item(place: str, item: Table | Figure, grids: dict[str, Grid]) -> None:
    if item.grid not in grids:
        raise FedbenchError(f"{place}.grid: {unknown('grid', item.grid, grids)}")
    axes = grids[item.grid].axes
    used = [*item.where, *(_drawn_axes(item) if isinstance(item, Figure) else _told_axes(item))]
    for axis in used:
        if axis not in axes and axis != "metric":
            raise FedbenchError(f"{place}: {unknown('axis', axis, [*axes, 'metric'])}")


def _told_axes(table: Table) -> tuple[str, ...]:
    """Axes that a table shows, takes for repeats, or subtracts along."""
    return (*table.rows, *table.columns, *table.over, *table.minus)


def _drawn_axes(figure: Figure) -> tuple[str, ...]:
    """Panels, hue, and the axis that the kind's option of that name puts along the bottom."""
    axis = figure.kind.params.get("axis")
    return (*figure.panels, figure.hue, *([axis] if axis else []))


def load_papers(workflow: Path, names: tuple[str, ...] = ()) -> dict[str, Paper]:
    """The papers of a workflow folder by file name; all of them, or those named."""
    files = {file.stem: file for file in sorted((workflow / "papers").glob("*.yaml"))}
    if not files:
        raise FedbenchError(
            f"{workflow / 'papers'}: no paper found; run from the project's top folder"
        )
    for name in names:
        if name not in files:
            raise unknown("paper", name, files)
    return {name: load(file, Paper) for name, file in files.items() if not names or name in names}

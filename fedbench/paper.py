"""What a paper's YAML file may say: grids of runs, the tables and figures drawn from them."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from fedbench.errors import FedbenchError, unknown
from fedbench.spec import RunSpec
from fedbench.strict import Strict
from fedbench.yamlfile import load

Level = str | int | float
Settings = dict[str, Any]
Where = dict[str, Level | tuple[Level, ...]]


class Grid(Strict):
    """All combinations of some axes' levels, each with every seed."""

    axes: dict[str, tuple[Level, ...]]
    seeds: Annotated[tuple[int, ...], Field(min_length=1)]
    settings: Settings = Field(default_factory=dict)


class Table(Strict):
    """A table: rows × columns of a grid, one or more metrics, at one point of the history.

    rows and columns name axes of the grid, or 'metric'; `at` is 'final', 'best' or a round.
    `controls` are levels of the method axis that the paper does not print.
    """

    title: str
    caption: str = ""
    grid: str
    where: Where = Field(default_factory=dict)
    rows: tuple[str, ...]
    columns: tuple[str, ...] = ("method",)
    metrics: tuple[str, ...] = ("accuracy",)
    at: Literal["final", "best"] | int = "final"
    unit: Literal["percent", "fraction"] = "percent"
    digits: int = 2
    controls: tuple[Level, ...] = ()


class Figure(Strict):
    """A figure: one metric of a grid's runs against the round, a line for each level of `hue`."""

    title: str
    caption: str = ""
    kind: Literal["curves"] = "curves"
    grid: str
    where: Where = Field(default_factory=dict)
    hue: str = "method"
    metric: str = "accuracy"


class Paper(Strict):
    """A paper: what all its runs share, what each level of an axis stands for, and its results.

    `levels` says which settings a level of an axis stands for: `{label: settings}`, or
    `{each: settings}` where '$' is the level itself. An axis without levels is a field of RunSpec.
    """

    title: str
    authors: str
    settings: Settings = Field(default_factory=dict)
    levels: dict[str, dict[Level, Settings]] = Field(default_factory=dict)
    grids: dict[str, Grid]
    tables: dict[str, Table] = Field(default_factory=dict)
    figures: dict[str, Figure] = Field(default_factory=dict)
    deviations: tuple[str, ...] = ()

    def items(self) -> list[tuple[str, Table | Figure]]:
        """Tables, then figures, by key."""
        return [*self.tables.items(), *self.figures.items()]

    @model_validator(mode="after")
    def _known_names(self) -> "Paper":
        for name, grid in self.grids.items():
            for axis, labels in grid.axes.items():
                _check_axis(f"grids.{name}.axes", axis, labels, self.levels)
        for name, item in self.items():
            _check_item(f"{type(item).__name__.lower()}s.{name}", item, self.grids)
        return self


def _check_axis(
    place: str, axis: str, labels: tuple[Level, ...], levels: dict[str, dict[Level, Settings]]
) -> None:
    if axis not in levels:
        if axis not in RunSpec.model_fields:
            raise FedbenchError(
                f"{place}: {unknown('axis', axis, [*levels, *RunSpec.model_fields])}"
            )
        return
    known = levels[axis]
    for label in labels:
        if "each" not in known and label not in known:
            raise FedbenchError(f"{place}.{axis}: {unknown('level', label, map(str, known))}")


def _check_item(place: str, item: Table | Figure, grids: dict[str, Grid]) -> None:
    if item.grid not in grids:
        raise FedbenchError(f"{place}.grid: {unknown('grid', item.grid, grids)}")
    axes = grids[item.grid].axes
    used = [*item.where, *([item.hue] if isinstance(item, Figure) else item.rows + item.columns)]
    for axis in used:
        if axis not in axes and axis != "metric":
            raise FedbenchError(f"{place}: {unknown('axis', axis, [*axes, 'metric'])}")


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

"""What a paper's YAML file may say: grids of runs, the tables and figures drawn from them."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from fedbench.base import registry
from fedbench.base.errors import FedbenchError, unknown
from fedbench.base.files import matching
from fedbench.base.strict import Name, Strict, require_name
from fedbench.base.yamlfile import load
from fedbench.claim import Claim
from fedbench.claim_names import check_claims
from fedbench.level import Level as Level
from fedbench.level import Where as Where
from fedbench.levels import Settings
from fedbench.paper_names import check_names
from fedbench.reading import reading
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
    grids: dict[Name, Grid]
    tables: dict[Name, Table] = Field(default_factory=dict)
    figures: dict[Name, Figure] = Field(default_factory=dict)
    facts: dict[Name, Facts] = Field(default_factory=dict)
    claims: dict[Name, Claim] = Field(default_factory=dict)
    deviations: tuple[str, ...] = ()

    def items(self) -> list[tuple[str, Table | Figure]]:
        """Tables, then figures, by key."""
        return [*self.tables.items(), *self.figures.items()]

    @model_validator(mode="after")
    def _known_names(self) -> "Paper":
        check_names(self)
        check_claims(self)
        return self


def load_papers(workflow: Path, names: tuple[str, ...] = ()) -> dict[str, Paper]:
    """The papers of a workflow folder by file name; all of them, or those named."""
    files = {file.stem: file for file in matching(workflow / "papers", "*.yaml")}
    if not files:
        raise FedbenchError(
            f"{workflow / 'papers'}: no paper found; run from the project's top folder"
        )
    for name in names:
        if name not in files:
            raise unknown("paper", name, files)
    return {n: _paper(file) for n, file in files.items() if not names or n in names}


def _paper(file: Path) -> Paper:
    """A paper's file; its name stands in paths and links."""
    require_name("the file's name", file.stem, file)
    return load(file, Paper)

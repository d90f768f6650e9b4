"""Tables of facts, which need no run: what they are computed from, and how they are read."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

import pandas as pd

from fedbench.base.checks import Checked, checked
from fedbench.base.errors import FedbenchError, require_among, require_returned
from fedbench.paper.axis_levels import Settings, known_levels, layered, level_settings
from fedbench.paper.paper import Paper
from fedbench.paper.printed_numbers import Place, Printed
from fedbench.paper.yaml_notation import Level
from fedbench.report.tables.export import CellText, TextTable
from fedbench.spec import Choice, RunSpec

Value = str | int | float | bool | None


class FactRow(NamedTuple):
    """A row; neighbouring rows of the same `group` stand under its name."""

    name: str
    values: tuple[Value, ...]
    group: str = ""


@dataclass(frozen=True)
class FactTable:
    """The whole table; `head` is the heading of the row names, `note` explains what is counted."""

    head: str
    columns: Mapping[str, Sequence[str]]  # titles by the name of their group, which may be empty
    rows: Sequence[FactRow]
    note: str = ""

    @property
    def heads(self) -> list[tuple[str, str]]:
        """Group and title of every column, that of the row names first."""
        named = ((group, title) for group, titles in self.columns.items() for title in titles)
        return [("", self.head), *named]

    @property
    def groups(self) -> list[tuple[str, list[FactRow]]]:
        """Rows under the names of their groups."""
        return [(name, list(rows)) for name, rows in groupby(self.rows, key=lambda row: row.group)]

    def frame(self) -> pd.DataFrame:
        """One line per row; a group's name stands in front of the names of its columns and rows."""
        heads = [": ".join(filter(None, head)) for head in self.heads]
        lines = [[": ".join(filter(None, (group, x))), *of] for x, of, group in self.rows]
        return pd.DataFrame(lines, columns=heads, dtype=object)

    def texts(self, caption: str) -> TextTable:
        """The table as texts, with what it counts as a remark."""
        rows: list[Sequence[CellText]] = []
        for name, members in self.groups:
            rows += [[CellText(name, bold=True)]] if name else []
            rows += [[*map(CellText, (row.name, *map(shown, row.values)))] for row in members]
        return TextTable(self.heads, 1, rows, caption, [self.note])


def shown(value: Value) -> str:
    """A value as text: ticks and crosses, commas between thousands, a dash for nothing."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "✓" if value else "✗"
    return value if isinstance(value, str) else f"{value:,}"


@dataclass(frozen=True)
class PaperReader:
    """Reads what a table of facts shows: the paper's settings and methods, its printed numbers."""

    key: str  # of the table in the paper's file, by which errors name it
    paper: Paper = field(repr=False)
    printed: Printed = field(repr=False)
    asked: list[Place] = field(default_factory=list, repr=False)  # the places looked up so far

    def number(self, dataset: str, metric: str) -> float | None:
        """The printed number at a place of this table; None if the paper prints none there."""
        place = Place(self.key, dataset, "", "", metric)
        self.asked.append(place)
        stat = self.printed.numbers.get(place)
        return stat.mean if stat else None

    def run(self, point: dict[str, Level]) -> RunSpec:
        """The run with the paper's settings and those of these levels, by axis."""
        levels = [self.settings(axis, level) for axis, level in point.items()]
        return RunSpec(**layered([self.paper.settings, *levels]))

    def parts(self, axis: str, level: Level) -> list[Any]:
        """The parts of a method, or of a level of another axis, as objects; imports torch."""
        choices = (checked(Choice, part) for part in self.settings(axis, level).get("parts", ()))
        return [part.build("method") for part in choices]

    def settings(self, axis: str, level: Level) -> Settings:
        """The settings of a level; raises `FedbenchError` if there is no such axis or level."""
        by_level, place = known_levels(axis, self.paper.levels), f"facts.{self.key}"
        if by_level is None:
            require_among(place, "axis", axis, [*self.paper.levels, *RunSpec.model_fields])
        elif "each" not in by_level:
            require_among(place, axis, level, by_level)
        return level_settings(self.paper.levels, axis, level)


class Fact(Checked, ABC):
    """A table that needs no run; its fields are its options in a paper's file."""

    @abstractmethod
    def table(self, reader: PaperReader) -> FactTable:
        """The table, for the paper's own experiments whatever the scale."""


def fact_table(key: str, paper: Paper, printed: Printed) -> FactTable:
    """The table of facts `key`; `FedbenchError` on a printed number that it does not show."""
    reader = PaperReader(key, paper, printed)
    kind = paper.facts[key].kind
    table: FactTable = kind.build("facts").table(reader)
    require_returned(f"facts.{key}: {kind.name}.table", table, FactTable)
    for row in table.rows:
        if len(row.values) != len(table.heads) - 1:
            told = f"{len(row.values)} values where the columns are {len(table.heads) - 1}"
            raise FedbenchError(f"facts.{key}: {kind.name}: the row '{row.name}' has {told}")
    printed.refuse_strangers(key, reader.asked)
    return table

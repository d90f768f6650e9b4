"""The tables and figures of a paper as its page shows them."""

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from fedbench.paper.items import Facts, Table
from fedbench.paper.metrics import Metric
from fedbench.report.pages.ranking import RanksOnPage
from fedbench.report.tables.cells import TableCell
from fedbench.report.tables.fact_table import FactTable
from fedbench.report.tables.layout import TableLayout
from fedbench.report.tables.rows import Group, Row

FRONT, BASE = 10, "FedAvg"  # rows of a leaderboard on the front page, and one that is always there
_NAMED = 3  # methods beside the first that a card names as best in some setting


@dataclass(frozen=True)
class TableOnPage:
    """A table of runs, laid out; `conditions` are what all of its runs have in common."""

    key: str
    table: Table
    layout: TableLayout
    caption: str
    ranks: tuple[RanksOnPage, ...]
    conditions: tuple[str, ...] = ()

    @property
    def scores(self) -> bool:
        """Whether all its metrics are scores, whose differences are percentage points."""
        return all(Metric(name).is_score for name in self.table.metrics)

    @property
    def untested(self) -> bool:
        """Whether every cell comes from substitutes, not from the paper's experiment."""
        return all(cell.substituted for cell in self.cells)

    @property
    def substituted(self) -> bool:
        """Whether any cell comes from a substitute."""
        return any(cell.substituted for cell in self.cells)

    @property
    def marked(self) -> bool:
        """Whether any cell is marked as the best one."""
        return any(cell.best for cell in self.cells)

    @property
    def blind(self) -> bool:
        """Whether settings of any cell were chosen by trials near chance."""
        return any(cell.blind for cell in self.cells)

    @property
    def cells(self) -> list[TableCell]:
        """All its cells, row by row."""
        return [e for g in self.layout.groups for row in g.rows for e in row.cells.values()]

    def first_rows(self, group: Group) -> list[tuple[int, Row]]:
        """What the front page shows of a group: its first rows and FedAvg's, each with a place."""
        rows = enumerate(group.rows, start=1)
        return [(n, x) for n, x in rows if n <= FRONT or BASE in {text for text, _ in x.heads}]

    @property
    def size(self) -> str:
        """'2 methods in 18 settings', or without methods '12 numbers'."""
        methods = {cell.place.method for cell in self.cells if not cell.control}
        settings = len({_setting(cell) for cell in self.cells})
        if len(methods) < 2:
            return f"{len(self.cells)} number{'' if len(self.cells) == 1 else 's'}"
        return f"{len(methods)} methods in {_counted(settings)}"

    @property
    def leaders(self) -> str:
        """'MFL is best in 12, RMFL in 5 of 18 settings, 1 a tie, by the mean alone'; or ''.

        Settings count by the table's first metric where no run is a substitute and every method has
        two seeds; empty if no cell of them is marked as best.
        """
        best = [names for cells in self._compared if (names := _best(cells))]
        wins = Counter(names[0] for names in best if len(names) == 1).most_common()
        if not wins:
            return ""
        (first, most), *others = wins
        if len(best) == 1:
            return f"{first} is best, by the mean alone"
        parts = [f"{first} is best in {most}", *(f"{name} in {n}" for name, n in others[:_NAMED])]
        parts += [f"{len(others) - _NAMED} more"] if len(others) > _NAMED else []
        ties = len(best) - sum(n for _, n in wins)
        tied = f", {ties} a tie" if ties else ""
        return f"{', '.join(parts)} of {_counted(len(best))}{tied}, by the mean alone"

    @property
    def _compared(self) -> list[list[TableCell]]:
        """The cells of each setting whose leader says something."""
        settings: dict[tuple[str, str], list[TableCell]] = {}
        for cell in self.cells:
            if cell.place.metric == self.table.metrics[0]:
                settings.setdefault(_setting(cell), []).append(cell)
        return [x for x in settings.values() if not any(map(_says_little, x))]


def _setting(cell: TableCell) -> tuple[str, str]:
    return cell.place.dataset, cell.place.setting


def _says_little(cell: TableCell) -> bool:
    """Whether the cell is of a substitute, or of a single seed."""
    return bool(cell.substituted) or len({run.seed for run in cell.measured_runs}) == 1


def _best(cells: list[TableCell]) -> list[str]:
    return [cell.place.method for cell in cells if cell.best]


def _counted(settings: int) -> str:
    return f"{settings} setting{'' if settings == 1 else 's'}"


@dataclass(frozen=True)
class FactOnPage:
    """A table that needs no run."""

    key: str
    table: Facts
    content: FactTable

    @property
    def size(self) -> str:
        """'8 rows × 5 columns'."""
        rows, columns = len(self.content.rows), len(self.content.columns)
        return (
            f"{rows} row{'' if rows == 1 else 's'} × {columns} column{'' if columns == 1 else 's'}"
        )


@dataclass(frozen=True)
class FigureOnPage:
    """A figure, drawn as an SVG for the page.

    `name` is its name in the paper, to which `title` adds the levels that it shows; `substituted`
    says how its runs differ from the paper's; `readout` is what the page's script tells of curves;
    `lack` says why nothing is drawn, if so; `in_numbers` whether a CSV file has what it says;
    `missing_letters` are boxes in its PNG and PDF, as no installed font has them.
    """

    key: str
    name: str
    title: str
    caption: str
    substituted: str
    svg: str = field(repr=False)
    readout: list[dict[str, Any]] = field(repr=False)
    lack: str = ""
    in_numbers: bool = False
    missing_letters: str = ""

    @property
    def box(self) -> tuple[float, float]:
        """Width and height of the SVG in inches."""
        box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)', self.svg)
        return (float(box[1]) / 72, float(box[2]) / 72) if box else (0.0, 0.0)

    @property
    def inches(self) -> float:
        """The width; a figure wider than 5 inches has a whole row of the page."""
        return self.box[0]


@dataclass(frozen=True)
class EmptyOnPage:
    """Figures beside each other of which nothing is drawn, for one reason: a line of the page."""

    figures: tuple[FigureOnPage, ...]

    @property
    def text(self) -> str:
        """Their names and the reason, as in 'Figs. 16 to 18 and 22: no run is finished.'."""
        found = [re.fullmatch(r"Fig\. (\d+)", figure.name) for figure in self.figures]
        numbers = [int(match[1]) for match in found if match]
        named = [x.title for x, match in zip(self.figures, found, strict=True) if not match]
        counted = [f"Fig{'s' * (len(numbers) > 1)}. {_ranges(numbers)}"] if numbers else []
        return f"{'; '.join(counted + named)}: {self.figures[0].lack}."


def _ranges(numbers: list[int]) -> str:
    """'3, 5 to 7 and 9' of 3, 5, 6, 7, 9."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    texts = [
        f"{run[0]} to {run[-1]}" if len(run) > 2 else " and ".join(map(str, run)) for run in runs
    ]
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))

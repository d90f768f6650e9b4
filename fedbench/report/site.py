"""Writes the report of a plan: pages, tables, figures and claims."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import pandas as pd

from fedbench import store
from fedbench.base.errors import FedbenchError, short
from fedbench.base.files import write_text
from fedbench.paper.items import Table
from fedbench.plan.plan import Plan
from fedbench.plan.printed import Printed, printed_file, read_printed
from fedbench.report import page
from fedbench.report.claims import findings
from fedbench.report.claims import tidy as tidy_claims
from fedbench.report.claims.page import ClaimOnPage
from fedbench.report.figures import draw, rank_figure
from fedbench.report.figures.drawing import drawing
from fedbench.report.page import FactOnPage, FigureOnPage, PaperPage, RunCount, TableOnPage
from fedbench.report.tables.cells import TableCell, table_cells, tidy
from fedbench.report.tables.fact import fact_table
from fedbench.report.tables.latex import to_latex
from fedbench.report.tables.layout import arrange
from fedbench.report.tables.ranks import RanksOnPage, rank_title, ranks
from fedbench.report.values import frames
from fedbench.report.values.frames import Collected
from fedbench.report.values.spreadsheet import to_csv

V = TypeVar("V")


def build(plan: Plan, results: Path, out: Path, papers: Path) -> list[Path]:
    """Write `out/<scale>/`: index.html, one page per paper, tables and claims (csv, tex), figures.

    `results` holds `<scale>/<paper>.parquet` and `runs/<id>/`, `papers` the printed numbers. Runs
    that are not in the parquet files are shown as missing. Returns the files written; the same
    results give the same bytes. A table or figure that cannot be made is left out: once all else
    is written, `FedbenchError` names it and says why.
    """
    writer = _Writer(plan, results, out / plan.scale)
    pages = [writer.paper(key, read_printed(printed_file(papers, key))) for key in plan.papers]
    writer.text("index.html", page.index_page(plan, pages))
    if writer.failed:
        named = "; ".join(f"{at}: {why}" for at, why in writer.failed.items())
        raise FedbenchError(f"not shown are {named}; all else is in {writer.folder}")
    return writer.files


class _Writer:
    """Writes files below one folder and lists those it has written."""

    def __init__(self, plan: Plan, results: Path, folder: Path) -> None:
        self.plan, self.results, self.folder = plan, results, folder
        self.files: list[Path] = []
        self.failed: dict[str, str] = {}  # by paper and key: why it could not be made

    def text(self, name: str, text: str) -> None:
        write_text(self.folder / name, text)
        self.files.append(self.folder / name)

    def paper(self, key: str, printed: Printed) -> PaperPage:
        """Write a paper's tables, figures, claims and page."""
        paths = store.Results(self.results)
        frame = frames.read(paths.frame(self.plan.scale, key))
        collected = Collected(frame, paths.runs)
        paper = self.plan.papers[key]
        tables = self._made(key, paper.tables, lambda at: self._table(at, frame, printed))
        facts = self._made(key, paper.facts, lambda at: self._fact(at, printed))
        figures_ = self._made(key, paper.figures, lambda at: self._figure(at, collected))
        claims = self._made(key, ("claims",), lambda at: self._claims(key, collected, printed))
        shown = PaperPage(
            key,
            paper,
            tables,
            facts,
            figures_,
            tuple(claim for of_paper in claims for claim in of_paper),
            _count(self.plan, key, frame, paths),
            quote(Path(os.path.relpath(paths.runs, self.folder)).as_posix()),
            {at: why for at, why in self.failed.items() if at.startswith(f"{key}/")},
            printed.absence if tables else "",
        )
        self.text(f"{key}.html", page.paper_page(self.plan, shown))
        return shown

    def _made(
        self, paper: str, keys: Iterable[str], make: Callable[[tuple[str, str]], V]
    ) -> tuple[V, ...]:
        """Those of these keys that could be made; `failed` says why the others could not."""
        made = []
        for key in keys:
            try:
                made.append(make((paper, key)))
            except Exception as error:  # whatever went wrong, the others are shown
                worded = isinstance(error, FedbenchError)
                self.failed[f"{paper}/{key}"] = str(error) if worded else short(error)
        return tuple(made)

    def _table(self, at: tuple[str, str], frame: pd.DataFrame, printed: Printed) -> TableOnPage:
        table = self.plan.papers[at[0]].tables[at[1]]
        cells = table_cells(self.plan, at, frame, printed)
        layout, caption = arrange(table, cells), page.caption(table)
        stem = f"tables/{at[0]}/{at[1]}"
        self.text(f"{stem}.csv", to_csv(tidy(at[0], cells)))
        label = f"{table.title} ({at[0]}, scale {self.plan.scale}). {caption}"
        self.text(f"{stem}.tex", to_latex("-".join(at), table, layout, label))
        return TableOnPage(at[1], table, layout, caption, self._ranks(at, table, cells))

    def _ranks(
        self, at: tuple[str, str], table: Table, cells: list[TableCell]
    ) -> RanksOnPage | None:
        placed = ranks(table, cells)
        if placed is None:
            return None
        key, title = f"ranks_{at[1]}", rank_title(table, placed)
        written = rank_figure.save(placed, title, self.folder / "figures" / at[0] / key)
        self.files += written
        svg = draw.inline(written[0].read_text(encoding="utf-8"), key)
        return RanksOnPage(key, title, placed, svg)

    def _fact(self, at: tuple[str, str], printed: Printed) -> FactOnPage:
        paper = self.plan.papers[at[0]]
        facts, content = paper.facts[at[1]], fact_table(at[1], paper, printed)
        stem = f"tables/{at[0]}/{at[1]}"
        self.text(f"{stem}.csv", content.to_csv())
        caption = " ".join(filter(None, [f"{facts.title} ({at[0]}).", facts.caption]))
        self.text(f"{stem}.tex", content.to_latex("-".join(at), caption))
        return FactOnPage(at[1], facts, content)

    def _claims(self, key: str, collected: Collected, printed: Printed) -> tuple[ClaimOnPage, ...]:
        judged = findings(self.plan, key, collected, printed)
        if judged:
            self.text(f"claims/{key}.csv", to_csv(tidy_claims(key, judged)))
        return tuple(ClaimOnPage(finding) for finding in judged)

    def _figure(self, at: tuple[str, str], collected: Collected) -> FigureOnPage:
        drawn = drawing(self.plan, at, collected)
        written = draw.save(drawn, self.folder / "figures" / at[0])
        self.files += written
        return FigureOnPage(drawn, draw.inline(written[0].read_text(encoding="utf-8"), at[1]))


def _count(plan: Plan, key: str, frame: pd.DataFrame, paths: store.Results) -> RunCount:
    ids = list(dict.fromkeys(cell.run_id for cell in plan.cells if cell.paper == key))
    states = frames.states(frame)
    diverged = {run: states[run] for run in ids if states.get(run, "").startswith("diverged")}
    missing = {run: store.state(paths.run(run)).why for run in ids if run not in states}
    named = frame["substitutes"].unique() if "substitutes" in frame else ()
    return RunCount(len(ids), missing, diverged, tuple(sorted(text for text in named if text)))

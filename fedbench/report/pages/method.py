"""The page of a method: what it is, what it costs by its parts' declarations, how it fared."""

import re
from collections.abc import Iterable, Sequence
from itertools import chain, count
from typing import Any, NamedTuple

import pandas as pd

from fedbench.base import registry
from fedbench.base.checks import checked
from fedbench.base.grouping import grouped
from fedbench.paper.axis_levels import level_settings
from fedbench.plan.plan import Plan
from fedbench.report.facts.methods import added_cost
from fedbench.report.pages.paper import PaperPage
from fedbench.report.pages.tables_and_figures import FigureOnPage, TableOnPage
from fedbench.report.tables.cells import comparable, learned, with_same_seeds
from fedbench.report.tables.layout import label_of
from fedbench.spec import Choice, RunSpec
from fedbench.spec.compositions import compositions

_SIGNS = str.maketrans({"+": "-plus-", "'": "-prime-", "=": "-is-"})


class MethodPage(NamedTuple):
    """All that the page of a method shows; `uses` has what it is in each paper."""

    name: str
    file: str  # below `methods/`
    citation: str
    uses: dict[str, dict[str, Any]]


def method_pages(plan: Plan, pages: Iterable[PaperPage]) -> list[MethodPage]:
    """One page per level of the axis `method`, in the order of the papers and their grids."""
    uses: dict[str, dict[str, dict[str, Any]]] = {}
    for page in pages:
        ranks, shown = _standings(page), _shown(plan, page)
        having = [c for c in plan.cells if c.paper == page.key and "method" in c.coords]
        for level, cells in grouped(having, lambda cell: cell.coords["method"]).items():
            name, runs = str(level), [cell.run for cell in cells]
            settings = level_settings(page.paper.levels, "method", level)
            parts = [checked(Choice, part) for part in settings.get("parts", ())]
            uses.setdefault(name, {})[page.key] = {
                "page": page,
                "parts": [_part(part, runs) for part in parts],
                "settings": {key: value for key, value in settings.items() if key != "parts"},
                "note": compositions()["FedAvg"].note,  # of a method without parts
                "shown": shown.get(name, []),
                "standings": ranks.get(name, []),
                "cost": cost_of(parts),
                "searches": [x for x in page.searches if name in x.methods and not x.goes_on],
            }
    files = _files(uses)
    cited = {name: method.citation for name, method in compositions().items()}
    return [MethodPage(x, files[x], cited.get(x, ""), of) for x, of in uses.items()]


def _files(names: Iterable[str]) -> dict[str, str]:
    """A file name for each method: its words, and a number where two would have the same."""
    files: dict[str, str] = {}
    for name in names:
        stem = re.sub(r"[^a-z0-9]+", "-", name.lower().translate(_SIGNS)).strip("-") or "method"
        named = chain([f"{stem}.html"], (f"{stem}-{n}.html" for n in count(2)))
        files[name] = next(file for file in named if file not in files.values())
    return files


def cost_of(parts: Sequence[Choice]) -> dict[str, Any] | None:
    """The `fields` of `Cost` beyond FedAvg, and the size of the `model`; imports torch."""
    if not parts:
        return None
    from fedbench.core.part import USUAL

    built = [part.build("method") for part in parts]
    return {"fields": added_cost(built, USUAL), "model": USUAL.d}


def _part(choice: Choice, runs: list[RunSpec]) -> dict[str, Any]:
    """A part's name, docstring and parameters: their values, or that searches chose them."""
    entry = registry.find("method", choice.name)
    told = entry.fields | choice.params
    for key, value in told.items():
        name = f"{choice.name}.{key}"
        searched = sum(run.tune is not None and name in run.tune.grid for run in runs)
        if searched:
            every = searched == len(runs)
            told[key] = "chosen by searches" if every else f"{value}, or chosen by a search"
    return {"name": choice.name, "doc": entry.doc, "parameters": told}


def _shown(plan: Plan, page: PaperPage) -> dict[str, list[TableOnPage | FigureOnPage]]:
    shown: dict[str, list[TableOnPage | FigureOnPage]] = {}
    for item in (x for x in page.of_runs if not getattr(x, "lack", "")):
        drawn = item.table if isinstance(item, TableOnPage) else page.paper.figures[item.key]
        cells = plan.select(page.key, drawn.grid, drawn.where)
        for name in dict.fromkeys(str(x.coords["method"]) for x in cells if "method" in x.coords):
            shown.setdefault(name, []).append(item)
    return shown


def _standings(page: PaperPage) -> dict[str, list[dict[str, Any]]]:
    """By method, its cell and rank in every setting of a table; the same runs count once."""
    standings: dict[str, list[dict[str, Any]]] = {}
    seen: set[frozenset[str]] = set()
    for table in page.tables:
        ranked = [cell for cell in table.cells if cell.place.method and table.metric.is_ranked]
        named = [cell for cell in ranked if cell.place.metric == table.metric.name]
        measured = [x for x in with_same_seeds(named) if x.measured and not x.missing]
        sound = learned(measured)
        for contest, cells in grouped(measured, lambda cell: cell.contest).items():
            runs = frozenset(run.id for cell in cells for run in cell.measured_runs)
            if len(cells) < 2 or contest not in sound or runs in seen:
                continue
            seen.add(runs)
            scores = pd.Series([comparable(cell, table.table) for cell in cells])
            for cell, rank in zip(cells, scores.rank(ascending=False), strict=True):
                names = tuple(x for x in cell.coords if x not in ("method", "metric"))
                at = {"table": table, "setting": label_of(cell, names), "cell": cell}
                at |= {"rank": rank, "among": len(cells)}
                standings.setdefault(cell.place.method, []).append(at)
    return standings

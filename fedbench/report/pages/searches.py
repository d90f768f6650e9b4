"""What the searches of settings tried, what each chose, and how much the choice says."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fedbench.plan.plan import Cell, Plan
from fedbench.plan.search import words
from fedbench.report.values.numbers import point_name
from fedbench.report.values.searched import near_chance, winner
from fedbench.store import Results

_NAMED = 3  # settings of the paper that a row names


@dataclass(frozen=True)
class SearchOnPage:
    """One search: the settings of the paper it serves, each point's score, and the best.

    `tried` holds (point in words, score from 0 to 1) in the grid's order; `near_chance`: whether
    even the best point scored next to nothing; `at_edge`: fields whose chosen value is the smallest
    or largest that was tried.
    """

    served: str
    rule: str
    tried: tuple[tuple[str, float], ...]
    chosen: str
    near_chance: bool
    at_edge: tuple[str, ...]


def searches(plan: Plan, paper: str, results: Results) -> list[SearchOnPage]:
    """The paper's searches that have chosen, in the plan's order."""
    cells: dict[str, list[Cell]] = {}
    for cell in plan.cells:
        if cell.paper == paper and cell.run_id in plan.searches:
            cells.setdefault(plan.searches[cell.run_id], []).append(cell)
    winners = {search: winner(results.winner(search)) for search in cells}
    return [_on_page(found, cells[search]) for search, found in winners.items() if found]


def _on_page(found: dict[str, Any], cells: list[Cell]) -> SearchOnPage:
    run = cells[0].run
    return SearchOnPage(
        served=_served(cells),
        rule=words(run),
        tried=tuple((_pairs(trial), trial["score"]) for trial in found["trials"]),
        chosen=_pairs(found["chosen"]),
        near_chance=near_chance(found, run.dataset),
        at_edge=tuple(found["on_edge"]),
    )


def _pairs(point: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.items() if name != "score")


def _served(cells: Iterable[Cell]) -> str:
    """'MNIST, α = 0.1, MFL': the levels of the first few cells, whatever their seeds."""
    named = (", ".join(point_name(*level) for level in cell.coords.items()) for cell in cells)
    names = list(dict.fromkeys(named))
    more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return "; ".join([*names[:_NAMED], *more])

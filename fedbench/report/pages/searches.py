"""What the searches of settings tried, what each chose, and how much the choice says."""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from fedbench.paper.metrics import Metric
from fedbench.plan.plan import Cell, Plan
from fedbench.plan.search import scored, words
from fedbench.report.values.guessing import GuessOf
from fedbench.report.values.numbers import point_name
from fedbench.report.values.searched import WinnerOf, near_chance
from fedbench.spec import RunSpec

_NAMED = 3  # settings of the paper that a row names


@dataclass(frozen=True)
class SearchOnPage:
    """One search: the settings of the paper it serves, each point's score, and the best.

    `tried` holds (point in words, its score in words) in the grid's order, `lost` the points of
    which a trial diverged; `near_chance`: whether even the best point scored next to nothing;
    `at_edge`: fields whose chosen value is the smallest or largest that was tried, and whose grid
    it is: 'lr at the edge of our grid'.
    """

    served: str
    rule: str
    tried: tuple[tuple[str, str], ...]
    lost: frozenset[str]
    chosen: str
    near_chance: bool
    at_edge: tuple[str, ...]


def searches(
    plan: Plan, paper: str, winner_of: WinnerOf, diverged: Container[str], guess_of: GuessOf
) -> list[SearchOnPage]:
    """The paper's searches that have chosen, in the plan's order; `diverged` are ids of runs."""
    cells: dict[str, list[Cell]] = {}
    for cell in plan.cells:
        if cell.paper == paper and cell.run_id in plan.searches:
            cells.setdefault(plan.searches[cell.run_id], []).append(cell)
    winners = {search: winner_of(search, its[0].run) for search, its in cells.items()}
    theirs = plan.papers[paper].paper_grids
    return [
        _on_page(found, cells[search], diverged, theirs, guess_of)
        for search, found in winners.items()
        if found
    ]


def _on_page(
    found: dict[str, Any],
    cells: list[Cell],
    diverged: Container[str],
    theirs: Container[str],
    guess_of: GuessOf,
) -> SearchOnPage:
    run = cells[0].run
    return SearchOnPage(
        served=_served(cells),
        rule=words(run),
        tried=tuple((_pairs(trial), _score(trial["score"], run)) for trial in found["trials"]),
        lost=frozenset(_lost(found, diverged)),
        chosen=_pairs(found["chosen"]),
        near_chance=near_chance(found, run, guess_of),
        at_edge=tuple(
            f"{field} at the edge of {'the paper’s' if field in theirs else 'our'} grid"
            for field in found["on_edge"]
        ),
    )


def _score(score: float | None, run: RunSpec) -> str:
    """A score as it is shown: accuracies in percent, a dash where a target was not reached."""
    if score is None or run.tune is None:
        return "–"
    metric = Metric(scored(run.tune))
    return f"{100 * score:.1f}" if metric.is_score and not metric.target else f"{score:g}"


def _lost(found: dict[str, Any], diverged: Container[str]) -> Iterator[str]:
    """The points of which a trial diverged; the trials stand by seed, and by point of the grid."""
    points = [_pairs(trial) for trial in found["trials"]]
    for n, run_id in enumerate(found.get("runs", ())):
        if run_id in diverged:
            yield points[n % len(points)]


def _pairs(point: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.items() if name != "score")


def _served(cells: Iterable[Cell]) -> str:
    """'MNIST, α = 0.1, MFL': the levels of the first few cells, whatever their seeds."""
    named = (", ".join(point_name(*level) for level in cell.coords.items()) for cell in cells)
    names = list(dict.fromkeys(named))
    more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return "; ".join([*names[:_NAMED], *more])

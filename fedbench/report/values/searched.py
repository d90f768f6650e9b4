"""What a search of settings chose, and whether its trials had learned enough to choose."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from fedbench.base.errors import FedbenchError
from fedbench.base.files import read_json
from fedbench.plan.plan import Plan
from fedbench.report.values.chance import NEAR, chance
from fedbench.spec import Choice


def winner(file: Path) -> dict[str, Any]:
    """What the search chose; empty if it has not yet, a trial failed, or the file is damaged.

    The page is written from what is there; what trains with a damaged file says how to mend it.
    """
    with suppress(FedbenchError):
        found = read_json(file)
        if {"chosen", "trials", "on_edge"} <= found.keys():
            return found
    return {}


def near_chance(found: dict[str, Any], dataset: Choice) -> bool:
    """Whether what the search chose scored next to nothing in its trials.

    That is the best score, unless a trial with a better one diverged.
    """
    guess = chance(dataset)
    if guess is None or not found:
        return False
    chosen = found["chosen"].items()
    scores = [trial["score"] for trial in found["trials"] if chosen <= trial.items()]
    return bool(scores) and scores[0] < NEAR * guess


def chosen_near_chance(
    plan: Plan, paper: str, winner_of: Callable[[str], dict[str, Any]]
) -> frozenset[str]:
    """The paper's runs whose settings were chosen by trials that had learned next to nothing."""
    served = {
        cell.run_id: (plan.searches[cell.run_id], cell.run.dataset)
        for cell in plan.cells
        if cell.paper == paper and cell.run_id in plan.searches
    }
    searches = dict(served.values())
    blind = {search for search, data in searches.items() if near_chance(winner_of(search), data)}
    return frozenset(run for run, (search, _) in served.items() if search in blind)

"""Which runs of a paper its page can draw side by side, and which it draws first."""

from typing import Any

import pandas as pd

from fedbench.plan.plan import Cell, Plan
from fedbench.report.values.numbers import point_name
from fedbench.spec.compositions import own_methods

_BASE, _BEST = "FedAvg", 4  # drawn first, and how many others beside it

Chosen = dict[str, dict[str, list[str]]]  # setting → method → ids of its runs, one per seed


def side_by_side(plan: Plan, paper: str, frame: pd.DataFrame) -> dict[str, Any]:
    """What the page's script is given: the `runs` that are there, and the methods `drawn` first.

    frame: the collected histories. Drawn first are FedAvg, methods of one's own, and those with
    the highest last accuracy in the first setting. Empty if the paper compares no methods or no run
    is there.
    """
    last = frame.drop_duplicates("run_id", keep="last").set_index("run_id")
    found: Chosen = {}
    for setting, cells in _settings(plan, paper).items():
        for cell in cells:
            if cell.run_id in last.index:
                of_method = found.setdefault(setting, {}).setdefault(_method(cell), [])
                of_method += [cell.run_id] * (cell.run_id not in of_method)
    if not found:
        return {}
    return {"runs": found, "drawn": _first(next(iter(found.values())), last)}


def _settings(plan: Plan, paper: str) -> dict[str, list[Cell]]:
    """The cells with a method by setting: 'CIFAR-10, α = 0.6'; where grids differ, with theirs."""
    named: dict[str, list[Cell]] = {}
    for cell in plan.cells:
        if cell.paper == paper and "method" in cell.coords:
            levels = [point_name(*at) for at in cell.coords.items() if at[0] != "method"]
            named.setdefault(", ".join(levels) or "all runs", []).append(cell)
    found: dict[str, list[Cell]] = {}
    for setting, cells in named.items():
        one_run_each = len({(_method(x), x.seed) for x in cells}) == len({x.run_id for x in cells})
        for cell in cells:
            key = setting if one_run_each else f"{setting} ({cell.grid})"
            found.setdefault(key, []).append(cell)
    return found


def _method(cell: Cell) -> str:
    return str(cell.coords["method"])


def _first(methods: dict[str, list[str]], last: pd.DataFrame) -> list[str]:
    score = "accuracy" if "accuracy" in last else "round"
    means = {name: float(last.loc[runs, score].mean()) for name, runs in methods.items()}
    best = sorted(means, key=lambda name: means[name], reverse=True)[:_BEST]
    return [name for name in methods if name in {_BASE, *own_methods(), *best}]

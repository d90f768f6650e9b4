"""Which runs of a plan are trained; the others are shown as far as they are finished."""

from dataclasses import replace

from fedbench.base.errors import unknown
from fedbench.base.yamlfile import split
from fedbench.plan.plan import Plan


def wanted(plan: Plan, train: str) -> Plan:
    """The plan of the runs to train: 'all', 'none', or those of methods, separated by commas.

    The searches of these runs are among them. Raises `FedbenchError` on a method that no run has.
    """
    if train == "all":
        return plan
    levels = {str(cell.coords["method"]) for cell in plan.cells if "method" in cell.coords}
    names = _names(train, levels) if train != "none" else ()
    for name in names:
        if name not in levels:
            raise unknown("method in this plan", name, sorted(levels))
    cells = [cell for cell in plan.cells if str(cell.coords.get("method")) in names]
    ids = dict.fromkeys(plan.needed(cells))
    searches = {run: search for run, search in plan.searches.items() if run in ids}
    return replace(
        plan,
        cells=cells,
        runs={run_id: plan.runs[run_id] for run_id in ids},
        searches=searches,
        trials={search: plan.trials[search] for search in searches.values()},
    )


def _names(train: str, levels: set[str]) -> tuple[str, ...]:
    """The names between the commas; one that is a method's whole name may have commas itself.

    'FedAvg, momentum 0.9, SlowMo' is 'FedAvg, momentum 0.9' and 'SlowMo' where there is such a
    method: the longest name that fits counts.
    """
    words, names = split(train), []
    while words:
        fitting = (n for n in range(len(words), 0, -1) if ", ".join(words[:n]) in levels)
        taken = next(fitting, 1)
        names.append(", ".join(words[:taken]))
        words = words[taken:]
    return tuple(names)

"""What the searches of settings tried, what each chose, and how much the choice says."""

from collections.abc import Container
from dataclasses import dataclass

from fedbench.base.grouping import grouped
from fedbench.paper.metrics import Metric
from fedbench.plan.plan import Plan
from fedbench.plan.search import Winner, scored, words
from fedbench.report.values.frames import Collected
from fedbench.report.values.guessing import near_chance
from fedbench.report.values.numbers import point_name
from fedbench.spec import RunSpec


@dataclass(frozen=True)
class SearchOnPage:
    """One search: the settings of the paper it serves, each point's score, and the best.

    `served` are these settings whatever their seeds, such as 'MNIST, α = 0.1, MFL', `methods` the
    methods among their levels. `tried` holds
    (point, score) as they are shown, in the grid's order, `lost` the points of which a trial
    diverged; `near_chance`: whether even the best point scored next to nothing; `at_edge`: fields
    whose chosen value is the smallest or largest that was tried, each with whether the paper names
    its values.
    """

    served: tuple[str, ...]
    methods: frozenset[str]
    rule: str
    tried: tuple[tuple[str, str], ...]
    lost: frozenset[str]
    chosen: str
    near_chance: bool
    at_edge: tuple[tuple[str, bool], ...]


def searches(
    plan: Plan, paper: str, collected: Collected, diverged: Container[str]
) -> list[SearchOnPage]:
    """The paper's searches that have chosen, in the plan's order; `diverged` are ids of runs."""
    searched = [c for c in plan.cells if c.paper == paper and c.run_id in plan.searches]
    cells = grouped(searched, lambda cell: plan.searches[cell.run_id])
    theirs, shown = plan.papers[paper].paper_grids, []
    for search, served in cells.items():
        run = served[0].run
        if found := collected.winner(search, run):
            names = (", ".join(point_name(*at) for at in x.coords.items()) for x in served)
            points = [_pairs(trial) for trial in found["trials"]]
            scores = [_score(trial["score"], run) for trial in found["trials"]]
            # the runs of trials stand by seed, and by point of the grid
            lost = [n for n, run_id in enumerate(found.get("runs", ())) if run_id in diverged]
            page = SearchOnPage(
                served=tuple(dict.fromkeys(names)),
                methods=frozenset(str(x.coords["method"]) for x in served if "method" in x.coords),
                rule=words(run),
                tried=tuple(zip(points, scores, strict=True)),
                lost=frozenset(points[n % len(points)] for n in lost),
                chosen=_pairs(found["chosen"]),
                near_chance=near_chance(found, run, collected.guess_of),
                at_edge=tuple((field, field in theirs) for field in found["on_edge"]),
            )
            shown.append(page)
    return shown


def _score(score: float | None, run: RunSpec) -> str:
    """A score as it is shown: accuracies in percent, a dash where a target was not reached."""
    if score is None or run.tune is None:
        return "–"
    metric = Metric(scored(run.tune))
    return f"{100 * score:.1f}" if metric.is_score and not metric.target else f"{score:g}"


def _pairs(point: Winner) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.items() if name != "score")

"""Refuses levels of an axis that stand for the very same runs, such as of a template without '$'.

Their rows would be equal, and claims would compare runs with themselves. Single points may be the
same run, as where two scalings of one size meet at a parameter of 0.
"""

from collections.abc import Iterable, Iterator

from fedbench.base.errors import FedbenchError
from fedbench.paper.items import Grid
from fedbench.paper.paper import Paper
from fedbench.paper.places import Level, level_text
from fedbench.plan.plan import Plan
from fedbench.plan.points import points
from fedbench.plan.resolved import resolve
from fedbench.spec import RunSpec

_Runs = dict[str, str]  # the id of a run, by the levels on all other axes and the seed


def refuse_same_runs(plan: Plan, name: str, paper: Paper) -> None:
    """Raise `FedbenchError` if levels of a paper's axis are the same runs wherever both stand.

    A scale may make them so, which puts one data set in the place of two: the settings before the
    cut decide.
    """
    for key, grid in paper.grids.items():
        cells = [(cell.coords, cell.seed, cell.run_id) for cell in plan.select(name, key, {})]
        for axis in grid.axes:
            runs: dict[Level, _Runs] = {}
            for coords, seed, run_id in cells:
                runs.setdefault(coords[axis], {})[_beside(coords, axis, seed)] = run_id
            for first in runs:
                same = [x for x in _same(first, runs) if _as_written(paper, grid, axis, (first, x))]
                if same:
                    levels = ", ".join(level_text(x) for x in (first, *same))
                    raise FedbenchError(
                        f"grids.{key}.axes.{axis}: the levels {levels} are the same runs; what a "
                        "level sets must depend on it (in a template by '$') and have an effect"
                    )


def _same(first: Level, runs: dict[Level, _Runs]) -> Iterator[Level]:
    """The levels after the first that have the first's run at every point that both have."""
    mine, later = runs[first], list(runs)[list(runs).index(first) + 1 :]
    for other in later:
        shared = mine.keys() & runs[other].keys()
        if shared and all(mine[point] == runs[other][point] for point in shared):
            yield other


def _as_written(paper: Paper, grid: Grid, axis: str, levels: Iterable[Level]) -> bool:
    """Whether two levels are the same runs before a scale cuts them down."""
    ids: dict[Level, _Runs] = {level: {} for level in levels}
    for point in points(grid):
        if point[axis] in ids:
            run = RunSpec(**resolve(paper, grid, point))
            ids[point[axis]][_beside(point, axis)] = run.id
    one, other = ids.values()
    return all(one[point] == other[point] for point in one.keys() & other.keys())


def _beside(coords: dict[str, Level], axis: str, seed: int | None = None) -> str:
    return str([level for name, level in coords.items() if name != axis] + [seed])

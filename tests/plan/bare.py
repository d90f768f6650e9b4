"""A plan of runs that no paper's grid gave, for what only looks at runs."""

from fedbench.base.yamlfile import read_value
from fedbench.paper.grid_points import LeftOut
from fedbench.paper.paper import Paper
from fedbench.paper.scale import Scale
from fedbench.plan.plan import Cell, Plan

TEXT = "{title: One, authors: Nobody, grids: {}}"


def bare_plan(specs, papers=None, trials=None, scale="demo"):
    """The plan of some runs; `papers` and `trials` have the ids of those of a paper or a search."""
    runs, papers = {spec.id: spec for spec in specs}, papers or {}
    shown = {name: Paper(**read_value(TEXT)) for name in papers}
    return Plan(
        scale=scale,
        cuts=Scale(about=""),
        tables=(),
        texts=dict.fromkeys(papers, TEXT),
        asked=shown,
        papers=shown,
        left_out=dict.fromkeys(papers, LeftOut([], [], {}, "", {})),
        cells=[
            Cell(name, "main", {}, runs[run_id].seed, runs[run_id], ())
            for name, ids in papers.items()
            for run_id in ids
        ],
        runs=runs,
        searches={},
        trials=trials or {},
    )

"""The plan as a file, which the rule `plan` writes and every later step reads.

Its name has the plan's fingerprint in it, so that the plan of another selection is another file.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from fedbench.base.checks import Name, Strict
from fedbench.base.checksums import digest
from fedbench.base.errors import FedbenchError, failing, require_among
from fedbench.base.files import matching, read_json, write_text
from fedbench.base.grouping import grouped
from fedbench.base.yamlfile import read_value
from fedbench.paper.notation import Level
from fedbench.paper.paper import Paper
from fedbench.plan.plan import Cell, Plan, only, part_of, told
from fedbench.plan.points import LeftOut
from fedbench.plan.substitutions import Substitutions
from fedbench.spec import RunSpec
from fedbench.store import Results

# Fields that a plan and its file have alike
_SAME = ("scale", "about", "speeds", "tables", "texts", "left_out", "searches")
_OF_POINT = ("paper", "grid", "coords", "substituted")  # of a cell, and of its point in the file


class _Point(Strict):
    """A point of a grid with its seeds, each with the id of its run."""

    paper: str
    grid: str
    coords: dict[str, Level]
    substituted: Substitutions
    runs: tuple[tuple[int, Name], ...]


class PlanContent(Strict):
    """All of a plan; the settings of runs are not looked at before somebody asks for them."""

    fingerprint: str
    """Of all else but the settings, for which the ids stand; by it one plan is told from others."""
    scale: Name
    about: str
    speeds: dict[str, float]
    tables: tuple[str, ...]
    texts: dict[Name, str]
    """The text of each paper's file."""
    shown: dict[Name, tuple[str, ...]]
    """The keys of the tables, figures and facts that the scale leaves of each paper."""
    grids: dict[Name, tuple[str, ...]]
    """The keys of the grids that it leaves."""
    left_out: dict[Name, LeftOut]
    searches: dict[Name, Name]
    trials: dict[Name, tuple[Name, ...]]
    points: tuple[_Point, ...]
    runs: dict[Name, dict[str, Any]]

    def own_fingerprint(self) -> str:
        """The fingerprint that this content has, whatever it says."""
        fields = self.model_dump(mode="json", exclude={"fingerprint", "runs"})
        return digest(fields | {"runs": list(self.runs)})


def _content(plan: Plan) -> PlanContent:
    """What is written of a plan, without the settings of its runs."""
    points = grouped(plan.cells, lambda cell: (cell.paper, cell.grid, *cell.coords.items()))
    content = PlanContent(
        **{name: getattr(plan, name) for name in _SAME},
        fingerprint="",
        shown={n: tuple(key for key, _ in x.everything()) for n, x in plan.papers.items()},
        grids={name: tuple(paper.grids) for name, paper in plan.papers.items()},
        trials={search: tuple(ids) for search, ids in plan.trials.items()},
        points=tuple(
            _Point(
                **{name: getattr(cells[0], name) for name in _OF_POINT},
                runs=tuple((cell.seed, cell.run_id) for cell in cells),
            )
            for cells in points.values()
        ),
        runs={run_id: {} for run_id in plan.runs},
    )
    return content.model_copy(update={"fingerprint": content.own_fingerprint()})


def fingerprint(plan: Plan) -> str:
    """By which a plan is told from one of other papers, tables or settings."""
    return _content(plan).fingerprint


def to_json(plan: Plan) -> str:
    """The plan as text, each run with the settings that differ from the defaults."""
    runs = {k: run.model_dump(mode="json", exclude_defaults=True) for k, run in plan.runs.items()}
    content = _content(plan).model_dump(mode="json", exclude={"runs"})
    return json.dumps(content | {"runs": runs}, indent=1) + "\n"


def write_plan(plan: Plan, results: Path) -> None:
    """Write the plan, and delete others of its scale: frames and pages are made from one plan."""
    file = Results(results).plan(plan.scale, fingerprint(plan))
    write_text(file, to_json(plan))
    for other in Results(results).plans(plan.scale):
        if other != file:
            other.unlink(missing_ok=True)


def planned_file(results: Path, scale: str) -> Path:
    """The plan of a scale in a results folder; raises `FedbenchError` if it has none."""
    files = Results(results).plans(scale)
    if not files:
        there = [each.name for each in matching(results, "*/")]
        others = [name for name in there if Results(results).plans(name)]
        told = f"; runs were started at {', '.join(others)}: name one with --scale"
        raise FedbenchError(
            f"{results}: there is no plan of scale '{scale}'"
            + (told if others else "; start the workflow, or make it with `fedbench plan --write`")
        )
    return max(files, key=lambda file: file.stat().st_mtime)


def read_plan(results: Path, scale: str) -> Plan:
    """That plan itself, whole."""
    return PlanFile(planned_file(results, scale)).plan()


class PlanFile:
    """A plan on disk, of which only what is asked for is built.

    A process that trains a few of 100,000 runs must not wait until the settings of all are checked.
    Raises `FedbenchError` naming the file if it is no plan, or was changed since it was written.
    """

    def __init__(self, file: Path) -> None:
        if not file.exists():
            raise FedbenchError(
                f"{file}: there is no plan; start the workflow, which makes it, or make it with "
                "`fedbench plan --write`"
            )
        self._file = file
        with self._is_plan():
            self._content = content = PlanContent(**read_json(file))
            named = [(search, run_id) for run_id, search in content.searches.items()]
            named += [(search, each) for search, ids in content.trials.items() for each in ids]
            named += [(each.paper, run_id) for each in content.points for _, run_id in each.runs]
            for name, run_id in named:
                if run_id not in content.runs:
                    lost = f"{name} has the run {run_id!r}"
                    raise FedbenchError(f"{lost}, which is not among its runs")
            if content.fingerprint != content.own_fingerprint():
                raise FedbenchError("its lists of runs are not those that it was made with")

    def _is_plan(self) -> AbstractContextManager[None]:
        remedy = "delete it and start the workflow again, which makes it anew"
        return failing(f"{self._file}: is no plan", remedy, (FedbenchError,))

    def runs(self, run_ids: Iterable[str]) -> dict[str, RunSpec]:
        """The settings of some runs; raises `FedbenchError` if one is not in the plan.

        They are those that their ids say: a damaged file, or a plug-in edited since, is refused.
        """
        found = self._specs(run_ids)
        self._require_as_named(found)
        return found

    def of_paper(self, paper: str) -> list[RunSpec]:
        """The runs of a paper; raises `FedbenchError` if the plan does not have it."""
        require_among("", "paper in this plan", paper, self._content.texts)
        points = [point for point in self._content.points if point.paper == paper]
        ids = dict.fromkeys(run_id for point in points for _, run_id in point.runs)
        return list(self.runs(ids).values())

    def search(self, search: str) -> tuple[RunSpec, list[RunSpec]]:
        """A run that the search chooses for, and the trials; `FedbenchError` if it is not there."""
        require_among("", "search in this plan", search, self._content.trials)
        trials = self._content.trials[search]
        run_id = next((k for k, chosen in self._content.searches.items() if chosen == search), None)
        if run_id is None:
            raise FedbenchError(f"no run in this plan asks for the search '{search}'")
        found = self.runs((run_id, *trials))
        return found[run_id], [found[trial] for trial in trials]

    def plan(self) -> Plan:
        """The plan as it was written."""
        content, texts = self._content, self._content.texts
        with self._is_plan():
            runs = self._specs(content.runs)
            whole = {name: Paper(**read_value(text)) for name, text in texts.items()}
        # an id takes a tenth of a millisecond: of a whole plan those with plug-ins are looked at
        self._require_as_named({k: run for k, run in runs.items() if run.plugins()})
        cells = [
            Cell(each.paper, each.grid, each.coords, seed, runs[run_id], each.substituted)
            for each in content.points
            for seed, run_id in each.runs
        ]
        of_paper = grouped(cells, lambda cell: cell.paper)
        asked = {name: only(name, paper, content.tables or None) for name, paper in whole.items()}
        shown = {n: part_of(asked[n], content.shown[n], content.grids[n]) for n in texts}
        return Plan(
            **{name: getattr(content, name) for name in _SAME},
            asked={name: told(paper, of_paper.get(name, ())) for name, paper in asked.items()},
            papers={name: told(paper, of_paper.get(name, ())) for name, paper in shown.items()},
            cells=cells,
            runs=runs,
            trials={search: list(ids) for search, ids in content.trials.items()},
        )

    def _specs(self, run_ids: Iterable[str]) -> dict[str, RunSpec]:
        specs = {}
        for run_id in run_ids:
            require_among("", "run in this plan", run_id, self._content.runs)
            specs[run_id] = RunSpec(**self._content.runs[run_id])
        return specs

    def _require_as_named(self, runs: Mapping[str, RunSpec]) -> None:
        """Refuse a run that its id does not name: the file is damaged, or a plug-in was edited."""
        for run_id, run in runs.items():
            if run.id != run_id:
                used = ", ".join(sorted(str(entry.file) for entry in run.plugins().values()))
                raise FedbenchError(
                    f"{self._file}: run {run_id} was planned with other plug-ins than there are "
                    f"now in {used}; start the workflow again, which makes the plan anew"
                    if used
                    else f"{self._file}: run {run_id} has other settings than its id says; delete "
                    "the file and start the workflow again to make it anew"
                )

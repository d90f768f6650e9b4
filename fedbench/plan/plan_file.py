"""The plan as a file, which the rule `plan` writes and every later step reads."""

import json
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from fedbench.base import registry
from fedbench.base.checks import checked, require_name
from fedbench.base.checksums import digest
from fedbench.base.errors import FedbenchError, failing, require_among
from fedbench.base.files import matching, read_json, write_text
from fedbench.base.grouping import grouped
from fedbench.base.plugins import KINDS
from fedbench.base.yamlfile import read_value
from fedbench.paper.grid_points import Substitutions
from fedbench.paper.paper import Paper
from fedbench.paper.scale import Scale
from fedbench.plan.plan import Cell, Plan, assembled
from fedbench.spec import RunSpec
from fedbench.store import Results

_OF_PLAN = ("scale", "cuts", "tables", "texts", "searches", "trials")
_OF_POINT = ("paper", "grid", "coords", "substituted")  # of a cell, and of its point in the file
_MAKE_IT = "start the workflow, or make it with `fedbench plan --write`"


def _content(plan: Plan) -> dict[str, Any]:
    """What is written of a plan but the settings of its runs, for which their ids stand."""
    points = grouped(plan.cells, lambda cell: (cell.paper, cell.grid, *cell.coords.items()))
    content = {
        **{name: getattr(plan, name) for name in _OF_PLAN},
        "points": [
            {name: getattr(cells[0], name) for name in _OF_POINT}
            | {"runs": [(cell.seed, cell.run_id) for cell in cells]}
            for cells in points.values()
        ],
    }
    plain = TypeAdapter(Any).dump_python(content, mode="json")
    return {"fingerprint": _fingerprint(plain, plan.runs), **plain}


def _fingerprint(content: Mapping[str, Any], runs: Iterable[str]) -> str:
    listed = {key: each for key, each in content.items() if key not in ("fingerprint", "runs")}
    return digest(listed | {"runs": list(runs)})


def fingerprint(plan: Plan) -> str:
    """By which a plan is told from one of other papers, tables or settings."""
    return str(_content(plan)["fingerprint"])


def to_json(plan: Plan) -> str:
    """The plan as text, each run with the settings that differ from the defaults."""
    runs = {k: run.model_dump(mode="json", exclude_defaults=True) for k, run in plan.runs.items()}
    return json.dumps(_content(plan) | {"runs": runs}, indent=1) + "\n"


def write_plan(plan: Plan, results: Path) -> None:
    """Write the plan, and delete others of its scale: frames and pages are made from one plan."""
    folders = Results(results)
    file = folders.plan(plan.scale, fingerprint(plan))
    write_text(file, to_json(plan))
    for other in folders.plans(plan.scale):
        if other != file:
            other.unlink(missing_ok=True)


def planned_file(results: Path, scale: str) -> Path:
    """The plan of a scale in a results folder; raises `FedbenchError` if it has none."""
    files = Results(results).plans(scale)
    if not files:
        there = [each.name for each in matching(results, "*/")]
        others = [name for name in there if Results(results).plans(name)]
        scales = f"runs were started at {', '.join(others)}: name one with --scale"
        told = scales if others else _MAKE_IT
        raise FedbenchError(f"{results}: there is no plan of scale '{scale}'; {told}")
    return max(files, key=lambda file: file.stat().st_mtime)


def read_plan(results: Path, scale: str) -> Plan:
    """That plan itself, whole."""
    return PlanFile(planned_file(results, scale)).plan()


class PlanFile:
    """A plan on disk, of whose 100,000 runs only those that are asked for are built and checked.

    Raises `FedbenchError` naming the file if it is no plan, or was changed since it was written.
    """

    def __init__(self, file: Path) -> None:
        if not file.exists():
            raise FedbenchError(f"{file}: there is no plan; {_MAKE_IT}")
        self._file = file
        with self._is_plan():
            self._content = content = read_json(file)
            names = (*content["texts"], *content["runs"], *content["trials"])
            for name in (content["scale"], *names, *content["searches"].values()):
                require_name("a name", name, "its lists")  # they become paths
            if content["fingerprint"] != _fingerprint(content, content["runs"]):
                raise FedbenchError("its lists of runs are not those that it was made with")

    def _is_plan(self) -> AbstractContextManager[None]:
        remedy = "delete it and start the workflow again, which makes it anew"
        return failing(f"{self._file}: is no plan", remedy, (FedbenchError, Exception))

    def runs(self, run_ids: Iterable[str]) -> dict[str, RunSpec]:
        """The settings of some runs; `FedbenchError` if one is not in the plan, or was changed."""
        self._require_as_named(found := self._specs(run_ids))
        return found

    def of_paper(self, paper: str) -> list[RunSpec]:
        """The runs of a paper; raises `FedbenchError` if the plan does not have it."""
        require_among("", "paper in this plan", paper, self._content["texts"])
        points = [point for point in self._content["points"] if point["paper"] == paper]
        ids = dict.fromkeys(run_id for point in points for _, run_id in point["runs"])
        return list(self.runs(ids).values())

    def searched(self, search: str) -> RunSpec:
        """A run that the search chooses for; `FedbenchError` if it is not there."""
        require_among("", "search in this plan", search, self._content["trials"])
        runs = (k for k, chosen in self._content["searches"].items() if chosen == search)
        if (run_id := next(runs, None)) is None:
            raise FedbenchError(f"no run in this plan asks for the search '{search}'")
        return self.runs((run_id,))[run_id]

    def plan(self) -> Plan:
        """The plan as it was written."""
        content = self._content
        for kind in KINDS:  # a plug-in that is broken by now is named as such, not as a bad plan
            registry.entries(kind)
        with self._is_plan():
            runs = self._specs(content["runs"])
            whole = {name: Paper(**read_value(text)) for name, text in content["texts"].items()}
            cuts = checked(Scale, content["cuts"])
            substituted = TypeAdapter(list[Substitutions]).validate_python(
                [point["substituted"] for point in content["points"]]
            )
            cells = [
                Cell(point["paper"], point["grid"], point["coords"], seed, runs[run_id], changed)
                for point, changed in zip(content["points"], substituted, strict=True)
                for seed, run_id in point["runs"]
            ]
        # an id takes a tenth of a millisecond: of a whole plan those with plug-ins are looked at
        self._require_as_named({k: run for k, run in runs.items() if run.plugins()})
        scale, tables, texts = content["scale"], tuple(content["tables"]), content["texts"]
        of_runs = runs, content["searches"], content["trials"]
        return assembled(whole, scale, cuts, tables, texts, cells, of_runs)

    def _specs(self, run_ids: Iterable[str]) -> dict[str, RunSpec]:
        specs = {}
        for run_id in run_ids:
            require_among("", "run in this plan", run_id, self._content["runs"])
            specs[run_id] = checked(RunSpec, self._content["runs"][run_id])
        return specs

    def _require_as_named(self, runs: Mapping[str, RunSpec]) -> None:
        """Refuse a run that its id does not name: the file is damaged, or a plug-in was edited."""
        for run_id, run in runs.items():
            if run.id != run_id:
                used = ", ".join(sorted(str(entry.file) for entry in run.plugins().values()))
                told = "has other settings than its id says; delete the file and"
                told = f"was planned with other plug-ins than now in {used};" if used else told
                remedy = "start the workflow again, which makes the plan anew"
                raise FedbenchError(f"{self._file}: run {run_id} {told} {remedy}")

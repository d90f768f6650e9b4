"""The plan as a file: what training, searches and collecting need of it."""

import json
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fedbench.base.digest import digest
from fedbench.base.errors import FedbenchError, unknown
from fedbench.base.files import read_json
from fedbench.base.strict import Name, Strict
from fedbench.plan.plan import Plan
from fedbench.plan.search import search_id
from fedbench.spec import RunSpec

_HEAD = 200  # characters at the beginning of the file, in which the fingerprint stands


class Schedule(Strict):
    """Runs by id, trial ids by search, and the run ids of each paper.

    fingerprint: of all these ids, by which a plan of another selection is told from this one.
    """

    fingerprint: str = ""
    scale: str
    runs: dict[Name, RunSpec]
    searches: dict[Name, tuple[Name, ...]]
    papers: dict[Name, tuple[Name, ...]]

    def run(self, run_id: str) -> RunSpec:
        """The settings of a run; raises `FedbenchError` if the plan does not have it."""
        if run_id not in self.runs:
            raise unknown("run in this plan", run_id, self.runs)
        return self.runs[run_id]

    def paper(self, name: str) -> list[RunSpec]:
        """The runs of a paper; raises `FedbenchError` if the plan does not have it."""
        if name not in self.papers:
            raise unknown("paper in this plan", name, self.papers)
        return [self.run(run_id) for run_id in self.papers[name]]

    def trials(self, search: str) -> list[RunSpec]:
        """The trials of a search; raises `FedbenchError` if the plan does not have it."""
        if search not in self.searches:
            raise unknown("search in this plan", search, self.searches)
        return [self.run(run_id) for run_id in self.searches[search]]

    def searched(self, search: str) -> RunSpec:
        """The first run whose settings the search chooses; all such runs share the search."""
        for run in self.runs.values():
            if run.tune and search_id(run) == search:
                return run
        if search in self.searches:
            raise FedbenchError(f"no run in this plan asks for the search '{search}'")
        raise unknown("search in this plan", search, self.searches)


def schedule(plan: Plan) -> Schedule:
    """The runs that a plan trains, trials included, by paper and by search."""
    papers = {
        name: tuple(dict.fromkeys(cell.run_id for cell in plan.cells if cell.paper == name))
        for name in plan.papers
    }
    searches = {search: tuple(ids) for search, ids in plan.trials.items()}
    return stamped(Schedule(scale=plan.scale, runs=plan.runs, searches=searches, papers=papers))


def stamped(planned: Schedule) -> Schedule:
    """The schedule with the fingerprint of its ids."""
    return planned.model_copy(update={"fingerprint": _fingerprint(planned, planned.runs)})


def to_json(planned: Schedule) -> str:
    """The schedule as text, each run with the settings that differ from the defaults."""
    runs = {
        key: run.model_dump(mode="json", exclude_defaults=True) for key, run in planned.runs.items()
    }
    head = {"fingerprint": planned.fingerprint, "scale": planned.scale}
    fields = {"runs": runs, "searches": planned.searches, "papers": planned.papers}
    return json.dumps(head | fields, indent=1) + "\n"


def fits(file: Path, planned: Schedule) -> bool:
    """Whether the file is this plan; one of other tables, papers or settings is not.

    Only its beginning is read: a plan of 100,000 runs has tens of megabytes.
    """
    try:
        with file.open(encoding="utf-8") as stream:
            return f'"fingerprint": "{planned.fingerprint}"' in stream.read(_HEAD)
    except (OSError, ValueError):
        return False


def load_schedule(
    file: Path, run_ids: Sequence[str] | None = None, of: str | None = None
) -> Schedule:
    """The inverse of `to_json`; raises `FedbenchError` naming the file.

    run_ids: the only runs that are wanted. A process that trains a few of 100,000 runs must not
    wait until the settings of all are checked. Raises `FedbenchError` if one is not in the file.
    of: the paper or the search whose runs must have the settings that their ids say.
    """
    if not file.exists():
        raise FedbenchError(
            f"{file}: there is no plan; start the workflow, which makes it, or make it with "
            "`fedbench plan --json`"
        )
    with _is_plan(file):
        content = read_json(file)
    there = content.get("runs")
    if run_ids is not None and isinstance(there, dict):
        content["runs"] = _wanted(there, run_ids)
    with _is_plan(file):
        planned = Schedule(**content)
        _require_whole(planned, there or {})
        _require_fingerprint(planned, there or {})
    of_one = (planned.papers | planned.searches).get(of or "", ())
    _require_as_named(file, planned, {*(run_ids or ()), *of_one})
    return planned


@contextmanager
def _is_plan(file: Path) -> Iterator[None]:
    try:
        yield
    except FedbenchError as error:
        raise FedbenchError(
            f"{file}: is no plan ({error}); delete it and start the workflow again, or make it "
            "with `fedbench plan --json`"
        ) from None


def _require_whole(planned: Schedule, run_ids: Container[str]) -> None:
    """Raise `FedbenchError` if a paper or a search has a run that the file does not have."""
    for name, ids in (planned.papers | planned.searches).items():
        for run_id in ids:
            if run_id not in run_ids:
                raise FedbenchError(f"{name} has the run {run_id!r}, which is not among its runs")


def _require_fingerprint(planned: Schedule, run_ids: Iterable[str]) -> None:
    """Raise `FedbenchError` if an id was taken out or put in by hand."""
    if planned.fingerprint != _fingerprint(planned, run_ids):
        raise FedbenchError("its lists of runs are not those that it was made with")


def _fingerprint(planned: Schedule, run_ids: Iterable[str]) -> str:
    return digest([planned.scale, list(run_ids), planned.searches, planned.papers])


def _wanted(runs: dict[str, Any], run_ids: Sequence[str]) -> dict[str, Any]:
    for run_id in run_ids:
        if run_id not in runs:
            raise unknown("run in this plan", run_id, runs)
    return {run_id: runs[run_id] for run_id in run_ids}


def _require_as_named(file: Path, planned: Schedule, run_ids: Container[str]) -> None:
    """Raise `FedbenchError` if a run is not the one that its id names.

    Then the file is damaged, or a plug-in that the run uses was edited since. Only these runs and
    those with plug-ins are looked at: an id takes a tenth of a millisecond.
    """
    for run_id, run in planned.runs.items():
        if (run_id in run_ids or run.plugins()) and run.id != run_id:
            used = ", ".join(sorted(str(entry.file) for entry in run.plugins().values()))
            raise FedbenchError(
                f"{file}: run {run_id} was planned with other plug-ins than there are now in "
                f"{used}; start the workflow again, which makes the plan anew"
                if used
                else f"{file}: run {run_id} has other settings than its id says; delete the file "
                "and start the workflow again to make it anew"
            )

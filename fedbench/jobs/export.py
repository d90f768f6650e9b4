"""Packs the finished runs of a plan, a file for each paper, so that they can be published."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from fedbench.base.files import exists
from fedbench.jobs.published import (
    all_present,
    files_of,
    joined,
    read_checked,
    require_same_data,
    require_sound,
)
from fedbench.plan.data import data_key
from fedbench.plan.plan import Plan
from fedbench.store.published import Kind, Published, Thing, write_published


@dataclass(frozen=True)
class Exported:
    """What the files of a paper hold: its planned runs, other runs, and what is missing.

    file: the last one that was written; missing: the ids of planned runs that are not published;
    unknown: the data sets without facts, which a rebuild would have to load.
    """

    file: Path
    planned: int
    missing: tuple[str, ...]
    others: int
    unknown: tuple[str, ...]

    @property
    def packed(self) -> int:
        """How many of the planned runs it holds."""
        return self.planned - len(self.missing)


def export(plan: Plan, paper: str, results: Path, out: Path) -> Exported:
    """Write the paper's runs that are finished or have diverged, the trials of searches among them.

    The first file is `<out>/<paper>.parquet`. What is published is never written again: runs that
    no file has yet go to `<paper>-<day>.parquet`. Raises `FedbenchError` naming a run that is
    damaged, or that a file holds with another content. Without any new run no file is written.
    """
    run_ids = plan.needed(cell for cell in plan.cells if cell.paper == paper)
    files = files_of(paper, out)
    published = [(file, read_checked(file)) for file in files]
    before = joined(published)
    runs = all_present((Thing(Kind.run, run_id) for run_id in run_ids), results)
    whole = joined([*published, (results, runs)])
    beside = _beside(plan, whole, run_ids, results)
    whole = joined([*published, (results, {**runs, **beside})])
    file = out / f"{paper}-{date.today()}.parquet" if files else out / f"{paper}.parquet"
    new = {thing: content for thing, content in whole.items() if thing not in before}
    if new:
        require_sound({**runs, **beside}, results)
        require_same_data(whole, results)
        facts = {thing: content for thing, content in whole.items() if thing.kind is Kind.data}
        today = read_checked(file) if exists(file) else {}
        write_published({**today, **facts, **new}, file)
    return _exported(file if new or not files else files[-1], plan, run_ids, whole)


def _beside(plan: Plan, runs: Published, run_ids: list[str], results: Path) -> Published:
    """The facts of the runs' data sets, and the winners of searches whose trials are all there."""
    packed = [run_id for run_id in run_ids if Thing(Kind.run, run_id) in runs]
    ended = [search for search, trials in plan.trials.items() if {*trials} <= {*packed}]
    winners = all_present((Thing(Kind.search, search) for search in ended), results)
    return {**all_present(_data(plan, packed), results), **winners}


def _data(plan: Plan, run_ids: list[str]) -> Iterator[Thing]:
    keys = dict.fromkeys(data_key(plan.runs[run_id].dataset) for run_id in run_ids)
    return (Thing(Kind.data, key) for key in keys)


def _exported(file: Path, plan: Plan, run_ids: list[str], whole: Published) -> Exported:
    held = {thing.name for thing in whole if thing.kind is Kind.run}
    packed = [run_id for run_id in run_ids if run_id in held]
    return Exported(
        file=file,
        planned=len(run_ids),
        missing=tuple(run_id for run_id in run_ids if run_id not in held),
        others=len(held - {*run_ids}),
        unknown=tuple(data.name for data in _data(plan, packed) if data not in whole),
    )

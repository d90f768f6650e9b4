"""Packs the finished runs of a plan, a file for each paper, so that they can be published."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fedbench.base.files import exists
from fedbench.jobs.published import (
    all_present,
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
    """What the file of a paper holds: its planned runs, other runs, and what is missing.

    missing: the ids of planned runs that are not in it; unknown: the data sets without facts, which
    a rebuild would have to load.
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
    """Write `<out>/<paper>.parquet` with the paper's runs that are finished or have diverged.

    The trials of searches are among them. What the file holds already stays in it, also if it is
    not in the results any more. Raises `FedbenchError` naming a run that is damaged, or that the
    file holds with another content. Without any finished run no file is written.
    """
    run_ids = plan.needed(cell for cell in plan.cells if cell.paper == paper)
    file = out / f"{paper}.parquet"
    before = read_checked(file) if exists(file) else {}
    runs = all_present((Thing(Kind.run, run_id) for run_id in run_ids), results)
    whole = joined([(file, before), (results, runs)])
    beside = _beside(plan, whole, run_ids, results)
    whole = joined([(file, whole), (results, beside)])
    if whole:
        require_sound({**runs, **beside}, results)
        require_same_data(whole, results)
        write_published(whole, file)
    return _exported(file, plan, run_ids, whole)


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

"""A table as a data frame of one row per cell, which is written as CSV."""

from collections.abc import Mapping

import pandas as pd

from fedbench.report.tables.cells import TableCell
from fedbench.report.words import say

COLUMNS = (
    "paper", "table", "dataset", "setting", "method", "metric", "printed_mean", "printed_std",
    "measured_mean", "measured_std", "pooled_std", "pooled_freedom", "n_seeds", "n_diverged",
    "n_planned", "chosen_near_chance", "run_ids", "substituted", "data_note",
)  # fmt: skip


def tidy(paper: str, cells: list[TableCell], notes: Mapping[str, str]) -> pd.DataFrame:
    """One row per cell, with the columns `COLUMNS`; `run_ids` are the measured runs.

    `pooled_std` is the deviation pooled over cells, `pooled_freedom` its degrees of freedom.
    `n_seeds` are the seeds with a measured run, `n_diverged` those among them with a run that
    diverged, `n_planned` all that were planned. `chosen_near_chance` is 1 if a search chose their
    settings among trials that had learned next to nothing, else 0. `data_note` is what `notes` says
    of the runs' data.
    """
    return pd.DataFrame([_record(paper, cell, notes) for cell in cells], columns=list(COLUMNS))


def _record(paper: str, cell: TableCell, notes: Mapping[str, str]) -> tuple[object, ...]:
    place, ids = cell.place, ";".join(run.id for run in cell.measured_runs)
    stats = [(s.mean, s.std) if s else (None, None) for s in (cell.printed, cell.measured)]
    where = (paper, place.table, place.dataset, place.setting, place.method, place.metric)
    pooled = (cell.pooled.std, cell.pooled.freedom) if cell.pooled else (None, None)
    lost = [run for run in cell.measured_runs if run.diverged]
    seeds = [len({run.seed for run in runs}) for runs in (cell.measured_runs, lost, cell.runs)]
    said = " ".join(dict.fromkeys(notes[r.id] for r in cell.measured_runs if r.id in notes))
    swapped = say("scale.substitutions", cell.substituted)
    about = (int(cell.blind), ids, swapped, said)
    return (*where, *stats[0], *stats[1], *pooled, *seeds, *about)

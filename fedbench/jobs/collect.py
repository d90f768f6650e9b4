"""Gathers the histories of a paper's runs into one tidy frame."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from fedbench.base.errors import FedbenchError
from fedbench.base.strict import Strict
from fedbench.plan.search import search_id, trial_runs, words
from fedbench.plan.versions import complete, has_failed, same_data
from fedbench.spec import Choice, RunSpec
from fedbench.store import Results, RunFolder, origins
from fedbench.store.arrow import in_pandas

_SUBSTITUTE = "substitute: "  # how a record marks what stood in for something in the data


def collect(runs: Sequence[RunSpec], results: Path) -> pd.DataFrame:
    """One row per run and evaluated round: run_id, status, the history, and all settings.

    Runs that failed are left out; the frame is empty if all did. Raises `FedbenchError` naming a
    run that was not trained, whose files were changed after it ended, or that was trained on other
    data than the other runs or than the trials of a search, or with another winner of one.
    """
    ids = ((run, run.id) for run in runs)  # an id takes a tenth of a millisecond
    there = [(run, run_id) for run, run_id in ids if not has_failed(run_id, results)]
    ended = [(run, *complete(run_id, results)) for run, run_id in there]
    if not ended:
        return pd.DataFrame()
    trained = [(run, record) for run, _, record in ended]
    same_data([*trained, *_tried(runs, results)], results)
    histories = [folder.rounds(record) for _, folder, record in ended]
    told = origins(Results(results), (record for _, record in trained))
    settings = [_settings(run, folder, told.of(record)) for run, folder, record in ended]
    _require_one_winner([run for run, _, _ in ended], settings)
    rows = [n for n, history in enumerate(histories) for _ in range(len(history))]
    repeated = {name: _column([row[name] for row in settings]).take(rows) for name in settings[0]}
    return _joined(histories).assign(**{name: each.array for name, each in repeated.items()})


def finished(runs: Sequence[RunSpec], results: Path) -> list[RunSpec]:
    """Those of the runs that were trained to their end."""
    return [run for run in runs if Results(results).run(run.id).record() is not None]


def _tried(runs: Sequence[RunSpec], results: Path) -> list[tuple[RunSpec, dict[str, Any]]]:
    """The trials of the runs' searches and their records, each once; deleted ones are left out."""
    trials = {trial.id: trial for search in _searches(runs) for trial in trial_runs(search)}
    records = ((trial, Results(results).run(key).record()) for key, trial in trials.items())
    return [(trial, record) for trial, record in records if record is not None]


def _searches(runs: Sequence[RunSpec]) -> list[RunSpec]:
    """One run of each search."""
    return list({search_id(run): run for run in runs if run.tune}.values())


def _joined(histories: list[pa.Table]) -> pd.DataFrame:
    """All rows below each other; a column that a run has not is empty in its rows."""
    plain = [history.replace_schema_metadata(None) for history in histories]
    return _without_lucky_hits(in_pandas(pa.concat_tables(plain, promote_options="permissive")))


def _without_lucky_hits(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame, in which outputs that are not finite hit no class.

    Earlier runs took them for class 0, and had its share of the samples as their accuracy.
    """
    names: list[str] = list(frame.columns)
    for loss in [name for name in names if "loss" in name and name != "train_loss"]:
        lost = ~np.isfinite(frame[loss].astype(float))
        for metric in ("accuracy", "macro_f1"):
            if (score := loss.replace("loss", metric)) in frame:
                frame.loc[lost & frame[score].notna(), score] = 0.0
    return frame

"""Gathers the histories of a paper's runs into one tidy frame."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from fedbench.base.checks import checked
from fedbench.base.errors import FedbenchError
from fedbench.plan.data_checks import complete, has_failed, same_data
from fedbench.plan.search import choices, search_id, trial_runs, value_of, words
from fedbench.spec import Choice, RunSpec
from fedbench.store import Results, RunFolder, origins
from fedbench.store.flat_settings import setting_columns
from fedbench.store.parquet_frames import from_rows, in_pandas

_SUBSTITUTE = "substitute: "  # how a record marks what stood in for something in the data


def collect(runs: Sequence[RunSpec], results: Path) -> pd.DataFrame:
    """One row per run and evaluated round: run_id, status, the history, and all settings.

    Parameters of choices have columns of their own, such as `fedprox.mu` and `partition.delta`.
    Runs that failed are left out. Raises `FedbenchError` naming a run that was not trained, that
    is damaged, or that was trained on other data, or with another winner of a search, than others.
    """
    ended = [(run, *complete(run.id, results)) for run in runs if not has_failed(run.id, results)]
    if not ended:
        return pd.DataFrame()
    trained = [(run, record) for run, _, record in ended]
    searches = {search_id(run): run for run in runs if run.tune}
    tried = {trial.id: trial for run in searches.values() for trial in trial_runs(run)}
    found = [(trial, Results(results).run(key).record()) for key, trial in tried.items()]
    same_data([*trained, *((x, record) for x, record in found if record is not None)], results)
    histories = [folder.rounds(record) for _, folder, record in ended]
    told_of = origins(Results(results), (record for _, record in trained))
    settings = [_settings(run, folder, told_of(record)) for run, folder, record in ended]
    _require_one_winner([run for run, _, _ in ended], settings)
    rows = [n for n, history in enumerate(histories) for _ in range(len(history))]
    repeated = {}
    for name in dict.fromkeys(name for row in settings for name in row if "." not in name):
        values = [row.get(name) for row in settings]
        kind = object if None in values else None  # None, such as that of `clip`, stays
        repeated[name] = pd.Series(values, dtype=kind).take(rows)
    named = in_pandas(from_rows({k: x for k, x in row.items() if "." in k} for row in settings))
    repeated |= {str(name): named[name].take(rows) for name in named}
    return _joined(histories).assign(**{name: each.array for name, each in repeated.items()})


def _joined(histories: list[pa.Table]) -> pd.DataFrame:
    """All rows below each other; a column that a run has not is empty in its rows."""
    plain = [history.replace_schema_metadata(None) for history in histories]
    frame = in_pandas(pa.concat_tables(plain, promote_options="permissive"))
    names: list[str] = list(frame.columns)
    for loss in [name for name in names if "loss" in name and name != "train_loss"]:
        # outputs that are not finite hit no class; earlier runs took them for class 0
        lost = ~np.isfinite(frame[loss].astype(float))
        for metric in ("accuracy", "macro_f1"):
            if (score := loss.replace("loss", metric)) in frame:
                frame.loc[lost & frame[score].notna(), score] = 0.0
    return frame


def _settings(run: RunSpec, folder: RunFolder, record: dict[str, Any]) -> dict[str, Any]:
    """What stands in all rows of a run, beside its history."""
    actual = trained_with(folder, record)
    chosen, allowed = _chosen(run, actual), choices(run.tune) if run.tune else {}
    wrong = [name for name, value in chosen.items() if value not in allowed[name]]
    if not wrong:
        wanted = run.changed(tune=None, **chosen).settings() if run.tune else run.settings()
        found = actual.settings()
        wrong = [name for name in RunSpec.model_fields if wanted.get(name) != found.get(name)]
    if wrong:
        said = f"resolved: {wrong[0]} is not what the settings of the run say"
        raise folder.damaged("run.json", said)
    tuned = {"tuned": json.dumps(chosen) if run.tune else "", "search": words(run)}
    told = {"run_id": record["id"], "status": record["status"], **tuned}
    told["substitutes"] = _substitutes(record)
    return told | setting_columns(actual.model_dump(mode="json"))


def trained_with(folder: RunFolder, record: dict[str, Any]) -> RunSpec:
    """The settings of a run, after its search; raises `FedbenchError` if they are damaged."""
    try:
        return RunSpec(**record["resolved"])
    except FedbenchError as error:
        raise folder.damaged("run.json", f"resolved: {error}") from None


def _require_one_winner(runs: Sequence[RunSpec], settings: Sequence[dict[str, Any]]) -> None:
    winners: dict[tuple[Any, ...], dict[str, str]] = {}
    for run, row in zip(runs, settings, strict=True):
        if run.tune:
            of_stage = search_id(run), run.tune.rank, *run.tune.times.items()
            winners.setdefault(of_stage, {}).setdefault(row["tuned"], row["run_id"])
    for (search, *_), first in winners.items():
        if len(first) > 1:
            told = " and ".join(f"{chosen} ({run_id})" for chosen, run_id in first.items())
            remedy = f"delete the runs with another winner than searches/{search}.json"
            raise FedbenchError(f"search {search} chose {told}: its winner has changed; {remedy}")


def _substitutes(record: dict[str, Any]) -> str:
    """Sentences on what stood in for data, on images that are not as published, on unused data."""
    data = record["data"]
    told = [f"Deviation in {data['name']}: {data['deviation']}"] if "deviation" in data else []
    for key, value in data.items():
        if value.startswith(_SUBSTITUTE):
            told.append(f"Substitute in {data['name']}, {key}: {value.removeprefix(_SUBSTITUTE)}.")
    unused = record.get("unused", {}).get("words", "")  # which earlier records do not say
    return "; ".join(told + [f"{unused}."] * bool(unused))


def _chosen(run: RunSpec, actual: RunSpec) -> dict[str, Any]:
    """What a run was trained with where its search has several values; empty without a search."""
    found = {}
    for name, values in run.tune.grid.items() if run.tune else ():
        found[name] = value_of(dict(actual), name)
        if isinstance(found[name], Choice):  # which the grid may spell otherwise
            same = (x for x in values if checked(Choice, x) == found[name])
            found[name] = next(same, found[name].name)
    return found

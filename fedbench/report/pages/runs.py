"""What pages tell of runs: how those of a paper were made, and the data of the page `run.html`.

And which runs of a paper its page can draw side by side, and which it draws first.

A page that is opened from a disk may load scripts but no other files, so that its data are a few
scripts.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fedbench.base.grouping import grouped
from fedbench.paper.metrics import Metric, meaning
from fedbench.plan.plan import Cell, Plan
from fedbench.plan.search import as_trained
from fedbench.report.values.numbers import point_name, short, thinned
from fedbench.spec.compositions import own_methods

_POINTS = 60  # of a curve at most
_PLAIN = {"round", "eta", "cohort", "floats_down", "floats_up", "best_round"}  # not drawn

_SUMS = ("checksum", "sha256", "name")  # of a data set's origin: told on the page of a run

Record = dict[str, Any]
Counts = tuple[tuple[str, int], ...]  # texts, the most frequent first, each with its runs
Shards = dict[str, str]  # the last letter of the runs' ids → the text of a script


@dataclass(frozen=True)
class Making:
    """Where runs come from, as their records say.

    `seconds` are those of local training, server and evaluation; `days` the first and the last on
    which a run ended, or none. Devices, versions and data each have the number of their runs.
    """

    runs: int
    seconds: float
    days: tuple[str, ...]
    devices: Counts
    versions: Counts
    data: Counts


def making(records: Iterable[Record]) -> Making | None:
    """The facts that these records tell; None if there is no record."""
    everything = list(records)
    if not everything:
        return None
    days = sorted(str(record["ended"])[:10] for record in everything if "ended" in record)
    return Making(
        runs=len(everything),
        seconds=sum(sum(record.get("seconds", {}).values()) for record in everything),
        days=tuple(dict.fromkeys((days[0], days[-1]))) if days else (),
        devices=_counted(_device(record) for record in everything),
        versions=_counted(_joined(record.get("versions", {}), " ") for record in everything),
        data=_counted(_origin(record.get("data", {})) for record in everything),
    )


def _counted(texts: Iterable[str]) -> Counts:
    counts = Counter(text for text in texts if text)
    return tuple(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _device(record: Record) -> str:
    """'cpu, AMD EPYC, x86_64 AVX512'."""
    return ", ".join(filter(None, (record.get(x, "") for x in ("device", "processor", "machine"))))


def _origin(data: dict[str, str]) -> str:
    """'digitpairs, source: substitute: pairs of scikit-learn 1.9.1 load_digits'."""
    facts = {key: text for key, text in data.items() if key not in _SUMS}
    return ", ".join(filter(None, (data.get("name", ""), _joined(facts, ": "))))


def _joined(facts: dict[str, str], between: str) -> str:
    return ", ".join(f"{key}{between}{text}" for key, text in facts.items())


def shards(plan: Plan, frames: Mapping[str, pd.DataFrame], records: dict[str, Record]) -> Shards:
    """All collected runs, in up to 16 scripts; `frames` has their histories by paper."""
    cells_of = grouped(plan.cells, lambda cell: cell.run_id)
    told: dict[str, dict[str, Any]] = {}
    shared: dict[str, int] = {}
    for frame in frames.values():
        for run, ended, drawn in _histories(frame[~frame["run_id"].isin(told)]):
            made = _of_record(records.get(run, {}), shared)
            papers = list(dict.fromkeys(cell.paper for cell in cells_of.get(run, ())))
            told[run] = {**ended, **made, "papers": papers, **drawn}
    letters = sorted({run[-1] for run in told})
    return {x: _script({k: v for k, v in told.items() if k[-1] == x}, shared) for x in letters}


def _number(facts: Any, shared: dict[str, int]) -> int:
    """The number of these facts among those that runs have in common, which are kept as JSON."""
    return shared.setdefault(json.dumps(facts, ensure_ascii=False), len(shared))


def _histories(frame: pd.DataFrame) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Of each run its id, how it ended, and what is drawn of it; scores come first.

    Columns are taken as arrays: a frame per run would take most of the time of a report.
    """
    numbers = frame.select_dtypes(["number", "bool"])
    scores = {name: Metric(name).is_score for name in map(str, numbers) if _is_curve(name)}
    columns = {
        name: frame[name].to_numpy(float) * (100.0 if scores[name] else 1.0)
        for name in sorted(scores, key=lambda name: not scores[name])
    }
    status, rounds = frame["status"].tolist(), frame["round"].tolist()
    for run, places in frame.groupby("run_id", sort=True).indices.items():
        rows = np.asarray(places)
        shown = rows[thinned(len(rows), _POINTS)]
        parts = {name: column[shown] for name, column in columns.items()}
        finite = {name: part for name, part in parts.items() if np.isfinite(part).any()}
        curves = {_label(name): [short(x) for x in part.tolist()] for name, part in finite.items()}
        drawn = {"points": len(rows), "x": [int(rounds[row]) for row in shown], "curves": curves}
        yield str(run), {"status": str(status[rows[-1]]), "rounds": int(rounds[rows[-1]])}, drawn


def _of_record(record: Record, shared: dict[str, int]) -> dict[str, Any]:
    facts = {key: record[key] for key in ("device", "processor") if key in record}
    settings, chosen = as_trained(record.get("settings", {}), record.get("resolved", {}))
    return {
        "seconds": round(sum(record.get("seconds", {}).values()), 1),
        "ended": record.get("ended", ""),
        "settings": settings,
        **({"chosen": chosen} if chosen else {}),
        "made": _number(facts | record.get("versions", {}), shared),
        "data": _number(record.get("data", {}), shared),
        "sha256": record.get("files", {}).get("rounds.parquet", ""),
    }


def _is_curve(name: str) -> bool:
    """Whether a column of the history is drawn; settings have no declared meaning."""
    base = name.removeprefix("val_").partition("[")[0]
    return name not in _PLAIN and not name.endswith("seconds") and meaning(base) is not None


def _label(name: str) -> str:
    metric = Metric(name)
    return f"{metric.label} (%)" if metric.is_score else metric.label


def _script(runs: dict[str, dict[str, Any]], shared: dict[str, int]) -> str:
    used = {run[key] for run in runs.values() for key in ("made", "data")}
    facts = {str(n): json.loads(text) for text, n in shared.items() if n in used}
    content = {"facts": facts, "runs": runs}
    return f"showRuns({json.dumps(content, ensure_ascii=False, separators=(',', ':'))});\n"


_BASE, _BEST = "FedAvg", 4  # drawn first, and how many others beside it

Chosen = dict[str, dict[str, list[str]]]  # setting → method → ids of its runs, one per seed


def side_by_side(plan: Plan, paper: str, frame: pd.DataFrame) -> dict[str, Any]:
    """What the page's script is given: the `runs` that are there, and the methods `drawn` first.

    frame: the collected histories. Drawn first are FedAvg, methods of one's own, and those with
    the highest last accuracy in the first setting. Empty if the paper compares no methods or no run
    is there.
    """
    last = frame.drop_duplicates("run_id", keep="last").set_index("run_id")
    found: Chosen = {}
    for setting, cells in _settings(plan, paper).items():
        for cell in cells:
            if cell.run_id in last.index:
                of_method = found.setdefault(setting, {}).setdefault(_method(cell), [])
                of_method += [cell.run_id] * (cell.run_id not in of_method)
    if not found:
        return {}
    methods, score = next(iter(found.values())), "accuracy" if "accuracy" in last else "round"
    means = {name: float(last.loc[runs, score].mean()) for name, runs in methods.items()}
    best = sorted(means, key=lambda name: means[name], reverse=True)[:_BEST]
    drawn = [name for name in methods if name in {_BASE, *own_methods(), *best}]
    return {"runs": found, "drawn": drawn}


def _settings(plan: Plan, paper: str) -> dict[str, list[Cell]]:
    """The cells with a method by setting: 'CIFAR-10, α = 0.6'; where grids differ, with theirs."""
    having = [cell for cell in plan.cells if cell.paper == paper and "method" in cell.coords]
    found: dict[str, list[Cell]] = {}
    for setting, cells in grouped(having, _setting).items():
        one_run_each = len({(_method(x), x.seed) for x in cells}) == len({x.run_id for x in cells})
        for cell in cells:
            key = setting if one_run_each else f"{setting} ({cell.grid})"
            found.setdefault(key, []).append(cell)
    return found


def _setting(cell: Cell) -> str:
    levels = [point_name(*at) for at in cell.coords.items() if at[0] != "method"]
    return ", ".join(levels) or "all runs"


def _method(cell: Cell) -> str:
    return str(cell.coords["method"])

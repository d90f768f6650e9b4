"""What pages tell of runs: how they were made, curves, searches, the data of `run.html`."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fedbench.base.grouping import grouped
from fedbench.paper.grid_points import Cell, by_setting
from fedbench.paper.metrics import Metric, meaning, scored
from fedbench.plan.plan import Plan
from fedbench.plan.search import Winner, as_trained, words
from fedbench.report.values.collected_frames import Collected
from fedbench.report.values.numbers import point_name, short, thinned
from fedbench.spec import RunSpec
from fedbench.spec.compositions import own_methods

_POINTS = 60  # of a curve at most
_PLAIN = {"round", "eta", "cohort", "floats_down", "floats_up", "best_round"}  # not drawn
_SUMS = ("checksum", "sha256", "name")  # of a data set's origin: told on the page of a run

Record = dict[str, Any]
Counts = tuple[tuple[str, int], ...]  # texts, the most frequent first, each with its runs


def making(records: Iterable[Record]) -> dict[str, Any] | None:
    """Where runs come from, as their records say; None if there is no record."""
    everything = list(records)
    if not everything:
        return None
    days = sorted(str(record["ended"])[:10] for record in everything if "ended" in record)
    devices, versions, data = [], [], []
    for record in everything:
        # 'cpu, AMD EPYC, x86_64 AVX512'
        devices.append([record.get(x, "") for x in ("device", "processor", "machine")])
        versions.append([f"{key} {text}" for key, text in record.get("versions", {}).items()])
        # 'digitpairs, source: substitute: pairs of scikit-learn 1.9.1 load_digits'
        of = record.get("data", {})
        facts = [f"{key}: {text}" for key, text in of.items() if key not in _SUMS]
        data.append([of.get("name", ""), *facts])
    return {
        "seconds": sum(sum(record.get("seconds", {}).values()) for record in everything),
        "days": tuple(dict.fromkeys((days[0], days[-1]))) if days else (),  # the first and the last
        "devices": _counted(devices),
        "versions": _counted(versions),
        "data": _counted(data),
    }


def _counted(told: list[list[str]]) -> Counts:
    counts = Counter(", ".join(filter(None, words)) for words in told if any(words))
    return tuple(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def shards(plan: Plan, frames: dict[str, pd.DataFrame], records: dict[str, Any]) -> dict[str, str]:
    """All runs in scripts, by the ids' last letter: a page on a disk can load no other files."""
    cells_of = grouped(plan.cells, lambda cell: cell.run_id)
    told: dict[str, dict[str, Any]] = {}
    shared: dict[str, int] = {}  # by facts that runs have in common, as JSON, their number

    def number(facts: dict[str, Any]) -> int:
        return shared.setdefault(json.dumps(facts, ensure_ascii=False), len(shared))

    for frame in frames.values():
        for run, ended, drawn in _histories(frame[~frame["run_id"].isin(told)]):
            record = records.get(run, {})
            made = {key: record[key] for key in ("device", "processor") if key in record}
            settings, chosen = as_trained(record.get("settings", {}), record.get("resolved", {}))
            told[run] = {
                **ended,
                "seconds": round(sum(record.get("seconds", {}).values()), 1),
                "ended": record.get("ended", ""),
                "settings": settings,
                **({"chosen": chosen} if chosen else {}),
                "made": number(made | record.get("versions", {})),
                "data": number(record.get("data", {})),
                "sha256": record.get("files", {}).get("rounds.parquet", ""),
                "papers": list(dict.fromkeys(cell.paper for cell in cells_of.get(run, ()))),
                **drawn,
            }
    texts = {}
    for letter, named in grouped(told, lambda run: run[-1]).items():
        used = {told[run][key] for run in named for key in ("made", "data")}
        facts = {str(n): json.loads(text) for text, n in shared.items() if n in used}
        content = {"facts": facts, "runs": {run: told[run] for run in named}}
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        texts[letter] = f"showRuns({text});\n"
    return dict(sorted(texts.items()))


def _histories(frame: pd.DataFrame) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Of each run its id, how it ended, and what is drawn of it; scores come first."""
    # as arrays: a frame per run would take most of the time of a report
    columns: list[tuple[str, np.ndarray[Any, Any]]] = []
    numbers = [Metric(str(name)) for name in frame.select_dtypes(["number", "bool"])]
    for metric in sorted(numbers, key=lambda metric: not metric.is_score):
        base = metric.name.removeprefix("val_").partition("[")[0]
        apart = metric.name in _PLAIN or metric.name.endswith("seconds")
        if not apart and meaning(base) is not None:
            label, factor = (" (%)", 100.0) if metric.is_score else ("", 1.0)
            columns.append((metric.label + label, frame[metric.name].to_numpy(float) * factor))
    status, rounds = frame["status"].tolist(), frame["round"].tolist()
    for run, places in frame.groupby("run_id", sort=True).indices.items():
        rows = np.asarray(places)
        shown = rows[thinned(len(rows), _POINTS)]
        parts = [(label, column[shown]) for label, column in columns]
        finite = {label: part for label, part in parts if np.isfinite(part).any()}
        curves = {label: [short(x) for x in part.tolist()] for label, part in finite.items()}
        drawn = {"points": len(rows), "x": [int(rounds[row]) for row in shown], "curves": curves}
        yield str(run), {"status": str(status[rows[-1]]), "rounds": int(rounds[rows[-1]])}, drawn


_BASE, _BEST = "FedAvg", 4  # drawn first, and how many that are best in the first setting


def side_by_side(plan: Plan, paper: str, frame: pd.DataFrame) -> dict[str, Any]:
    """What the page's script is given: the `runs` that are there, and the methods `drawn` first."""
    last = frame.drop_duplicates("run_id", keep="last").set_index("run_id")
    having = [cell for cell in plan.cells if cell.paper == paper and "method" in cell.coords]
    found: dict[str, dict[str, list[str]]] = {}  # setting → method → ids of its runs
    for setting, cells in by_setting(having, _setting).items():
        for cell in (cell for cell in cells if cell.run_id in last.index):
            of_method = found.setdefault(setting, {}).setdefault(str(cell.coords["method"]), [])
            of_method += [cell.run_id] * (cell.run_id not in of_method)
    if not found:
        return {}
    methods, score = next(iter(found.values())), "accuracy" if "accuracy" in last else "round"
    means = {name: float(last.loc[runs, score].mean()) for name, runs in methods.items()}
    best = sorted(means, key=lambda name: means[name], reverse=True)[:_BEST]
    drawn = [name for name in methods if name in {_BASE, *own_methods(), *best}]
    return {"runs": found, "drawn": drawn}


def _setting(cell: Cell) -> str:
    levels = [point_name(*at) for at in cell.coords.items() if at[0] != "method"]
    return ", ".join(levels) or "all runs"


class SearchOnPage(NamedTuple):
    """One search: the settings of the paper it serves, each point's score, and the best."""

    served: tuple[str, ...]  # these settings whatever their seeds, such as 'MNIST, α = 0.1, MFL'
    methods: frozenset[str]  # those among them
    rule: str
    tried: tuple[tuple[str, str], ...]  # (point, score) in the grid's order
    lost: frozenset[str]  # points of which a trial diverged
    chosen: str
    near_chance: bool  # whether even the best point scored next to nothing
    at_edge: tuple[tuple[str, bool], ...]  # fields at an end of what was tried, whether the paper's
    goes_on: bool  # a first stage, whose best points another search tries


def searches(plan: Plan, paper: str, collected: Collected, lost: set[str]) -> list[SearchOnPage]:
    """The paper's searches that have chosen, in the plan's order; `lost` are diverged runs' ids."""
    searched = [c for c in plan.cells if c.paper == paper and c.run_id in plan.searches]
    cells = grouped(searched, lambda cell: plan.searches[cell.run_id])
    theirs, shown = plan.papers[paper].paper_grids, []
    one_of = {search: plan.runs[run_id] for run_id, search in plan.searches.items()}
    stages = [(x, k) for k, served in cells.items() for x in plan.searches_of([served[0].run_id])]
    for stage, search in stages:
        served, goes_on = cells[search], stage != search
        if goes_on and {*plan.trials[stage]} <= {*plan.trials[search]}:
            continue  # all that it tried stands among what came of it
        run = one_of[stage] if goes_on else served[0].run
        if found := collected.winner(stage, run):
            names = (", ".join(point_name(*at) for at in x.coords.items()) for x in served)
            points = [_pairs(trial) for trial in found["trials"]]
            scores = [_score(trial["score"], run) for trial in found["trials"]]
            # the runs of trials stand by seed, and by point of the grid
            gone = [n for n, run_id in enumerate(found.get("runs", ())) if run_id in lost]
            page = SearchOnPage(
                served=tuple(dict.fromkeys(names)),
                methods=frozenset(str(x.coords["method"]) for x in served if "method" in x.coords),
                rule=words(run),
                tried=tuple(zip(points, scores, strict=True)),
                lost=frozenset(points[n % len(points)] for n in gone),
                chosen=_pairs(found["chosen"]),
                near_chance=collected.near_chance(stage, run),
                at_edge=tuple((x, x in theirs) for x in found["on_edge"] if not goes_on),
                goes_on=goes_on,
            )
            shown.append(page)
    return shown


def _score(score: float | None, run: RunSpec) -> str:
    if score is None or run.tune is None:
        return "–"
    metric = Metric(scored(run.tune))
    return f"{100 * score:.1f}" if metric.is_score and not metric.target else f"{score:g}"


def _pairs(point: Winner) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.items() if name != "score")

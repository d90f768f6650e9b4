"""Writes a paper's file that compares many methods on the same settings, with an equal search."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fedbench.base import registry
from fedbench.base.checks import checked
from fedbench.base.errors import FedbenchError, at, quoted
from fedbench.base.files import exists, read_text, write_text
from fedbench.base.yamlfile import read_value, written
from fedbench.paper.axis_levels import Settings
from fedbench.paper.metrics import ENGINE, Metric
from fedbench.paper.paper import Paper
from fedbench.paper.yaml_notation import Target, reading
from fedbench.spec import Choice
from fedbench.spec.compositions import compositions, spelled_out

FIRST_LINE = "# Written by `fedbench bench`, which writes it again; copy it to change it by hand.\n"
USUAL_GRIDS = {"lr": (0.01, 0.03, 0.1, 0.3), "momentum": (0.0, 0.5, 0.9), "epochs": (1, 2, 5)}
_COSTS = {"megabytes": "traffic", "thousand_sample_passes": "computation"}


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What is compared with what, in every combination of data sets and partitions."""

    methods: Mapping[str, Settings]  # none of a named method, by the name shown
    datasets: Sequence[Any] = ("digits",)
    partitions: Sequence[Any] = ("iid",)
    settings: Mapping[str, Any] = field(default_factory=dict)  # of all runs
    seeds: int = 3
    tune: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # values tried, by setting
    metric: str = "accuracy"
    targets: Sequence[float] = ()  # scores for which tables say what it takes to reach them


def chosen_methods(entries: str | Iterable[Any]) -> dict[str, Settings]:
    """The settings that make each method, by the names that tables show; a text has commas.

    `MOON` is a named method or a part, `FedAvg+fedsam` is both together, and `{mine: [MOON,
    {fedsam: {rho: 0.1}}]}` gives a list of parts a name; `all` is every named method.
    """
    methods: dict[str, Settings] = {}
    entries = read_value(f"[{entries}]") if isinstance(entries, str) else list(entries)
    for entry in entries:
        for name, settings in _entry(entry).items():
            if name in methods:
                raise FedbenchError(f"methods: '{name}' is given twice; once is enough")
            methods[name] = settings
    if len(methods) < 2:
        raise FedbenchError(f"methods = {quoted(entries)} is not allowed: name two or more")
    return methods


def _entry(entry: Any) -> dict[str, Settings]:
    named = compositions()
    if entry == "all":
        return {name: {} for name in named}
    if not isinstance(entry, dict) and str(entry) in named:
        return {str(entry): {}}
    lists = entry if isinstance(entry, dict) else {str(entry): str(entry).split("+")}
    for name, parts in lists.items():
        with at(f"methods: {name}"):
            spelled_out({"parts": parts})
    return {str(name): {"parts": list(parts)} for name, parts in lists.items()}


def grids_of(texts: Iterable[str]) -> dict[str, tuple[Any, ...]]:
    """The values to try by setting: 'lr=0.01,0.1', or 'lr' for usual ones; else `FedbenchError`."""
    grids: dict[str, tuple[Any, ...]] = {}
    for text in texts:
        name, sign, values = text.partition("=")
        refused = f"tune = {quoted(text)} is not allowed:"
        if name in grids:
            raise FedbenchError(f"{refused} {name} is given twice; write all its values in one")
        if not sign and name not in USUAL_GRIDS:
            usual = f"only {', '.join(USUAL_GRIDS)} have usual ones"
            raise FedbenchError(f"{refused} write the values, such as {name}=0.1,1; {usual}")
        grids[name] = tuple(read_value(f"[{values}]")) if sign else USUAL_GRIDS[name]
    return grids


def targets_of(metric: str, texts: Iterable[str]) -> list[float]:
    """The scores of `metric` to reach; raises `FedbenchError` on one that no run can reach."""
    with at("--targets"):
        targets = [reading(f"round@to:{metric}={text}").target for text in texts]
    return [target.value for target in targets if target]


def write_bench(bench: Bench, file: Path) -> None:
    """Write the paper's file; raises `FedbenchError` if it is wrong, or was written by hand."""
    content = content_of(bench)
    checked(Paper, content)
    if exists(file) and not read_text(file).startswith(FIRST_LINE):
        raise FedbenchError(f"{file}: was written by hand, and is not overwritten; name another")
    write_text(file, FIRST_LINE + written(content))


def content_of(bench: Bench) -> dict[str, Any]:
    """The fields of the paper's file; raises `FedbenchError` on a setting that is given twice."""
    _refuse_twice(bench)
    settings, levels, axes = dict[str, Any](), dict[str, Any](), dict[str, Any]()
    for axis, values in (("dataset", bench.datasets), ("partition", bench.partitions)):
        by_name = {str(checked(Choice, v)): {axis: v} for v in values}  # as tables show them
        if len(by_name) > 1:
            levels[axis], axes[axis] = by_name, [*by_name]
        else:
            settings |= next(iter(by_name.values()), {})
    own = {name: parts for name, parts in bench.methods.items() if parts}
    tried = {name: list(values) for name, values in bench.tune.items()}
    # costs rank methods, but choose no settings
    by = {} if bench.metric in ("accuracy", *ENGINE) else {"by": f"{bench.metric}@final"}
    search = {"tune": {"grid": tried, **by}} if tried else {}
    main = {"axes": axes | {"method": [*bench.methods]}, "seeds": list(range(bench.seeds))}
    return {
        "title": f"Comparison of {len(bench.methods)} methods",
        "authors": "fedbench bench",
        "prints": False,
        "settings": {**settings, **bench.settings, **_watched(bench), **search},
        "levels": levels | ({"method": own} if own else {}),
        "grids": {"main": main},
        "front": "leaderboard",
        "tables": {"leaderboard": _leaderboard(bench, list(axes))},
        "figures": _figures(bench, list(axes)),
    }


def _refuse_twice(bench: Bench) -> None:
    """Refuse a setting of all runs that is given elsewhere too: one of them would be ignored."""
    elsewhere = {
        "parts": "name them in methods, as in MOON+asd",
        "dataset": "name it by --dataset, once for each data set",
        "partition": "name it by --partition, once for each partition",
    }
    for name in bench.settings:
        if name in elsewhere:
            raise FedbenchError(f"set: {name} is no setting of all runs: {elsewhere[name]}")
        if name in bench.tune or (name == "tune" and bench.tune):
            refused = f"set: {name} = {quoted(bench.settings[name])} is not allowed"
            raise FedbenchError(f"{refused}: tune searches it; leave one of them out")


def _watched(bench: Bench) -> Settings:
    """The probes of the leaderboard's columns beside those asked for; one needs classes."""
    watch = bench.settings.get("watch", [])
    asked = list(watch) if isinstance(watch, list | tuple) else [watch]
    with at("watch"):
        names = [checked(Choice, probe).name for probe in asked]
    wanted = [] if bench.metric == "loss" else ["perclient"]
    probes = registry.entries("probe").items()
    wanted += [n for n, probe in probes if bench.metric in (probe.constants.get("COLUMNS") or {})]
    added = [name for name in dict.fromkeys(wanted) if name not in names]
    return {"watch": asked + added} if asked or added else {}


def _leaderboard(bench: Bench, settings: list[str]) -> dict[str, Any]:
    targets = [str(Target(bench.metric, value)) for value in bench.targets]
    spent = [f"{what}@to:{target}" for target in targets for what in ("round", *_COSTS)]
    clients = [] if bench.metric == "loss" else ["client_worst", "client_spread"]
    tuned = " and ".join(bench.tune)
    searched = f"For every method the same search chose {tuned}" if tuned else "Nothing is searched"
    several = f"Mean ± standard deviation over {bench.seeds} seeds"
    return {
        "title": "Leaderboard",
        "caption": (
            f"{several if bench.seeds > 1 else 'The values of one seed'}, the best method first by "
            f"{Metric(bench.metric).label.lower()} after the last round. {searched}."
        ),
        "grid": "main",
        "rows": [*settings, "method"],
        "columns": ["metric"],
        "metrics": [*dict.fromkeys([bench.metric, f"{bench.metric}@best", *spent, *clients])],
        "order": "best first",
    }


def _figures(bench: Bench, settings: list[str]) -> dict[str, Any]:
    of_main = {"grid": "main", "panels": settings, "metric": bench.metric}
    what = Metric(bench.metric).label
    figures: dict[str, Any] = {"rounds": {"title": f"{what} over the rounds", **of_main}}
    front: dict[str, Any] = {}
    for cost, word in _COSTS.items():
        over, buys = {"curves": {"x": cost}}, {"pareto": {"cost": cost}}
        figures[cost] = {"title": f"{what} over {word}", "kind": over, **of_main}
        front[f"pareto_{cost}"] = {"title": f"What {word} buys", "kind": buys, **of_main}
    return figures | front

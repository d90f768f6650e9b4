"""What a run's history and tables will hold, and what a metric is called, its unit, its best."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from fedbench.base import registry
from fedbench.base.errors import FedbenchError, shown, unknown
from fedbench.paper.yaml_notation import VARYING, Reading, Target, reading
from fedbench.spec import RunSpec, Tune
from fedbench.spec.fields import WORDS

if TYPE_CHECKING:  # a training job has no table: it starts the faster
    from fedbench.paper.tables_and_figures import Table


class Meaning(NamedTuple):
    """What a column is called, its unit, and whether a 'higher' or 'lower' value is better."""

    label: str
    unit: str = ""
    better: str = ""


_Columns = dict[str, tuple[str, str, str]]
# By name: label, unit and which direction is better, as probes declare theirs
SCORES: _Columns = {
    "loss": ("Loss", "", "lower"),
    "accuracy": ("Accuracy", "fraction", "higher"),
    "macro_f1": ("Macro-F1", "fraction", "higher"),
}
ENGINE: _Columns = {
    "round": ("Communication round", "", ""),
    "eta": ("Learning rate", "", ""),
    "train_loss": ("Training loss", "", "lower"),
    "cohort": ("Clients in the round", "", ""),
    "step_norm": ("Norm of the global step", "", ""),
    "floats_down": ("Numbers sent to clients", "", "lower"),
    "floats_up": ("Numbers sent by clients", "", "lower"),
    "sample_passes": ("Sample passes", "", "lower"),
    "compute": ("Computation", "sample passes", "lower"),
    "train_seconds": ("Time to train", "s", "lower"),
    "server_seconds": ("Time at the server", "s", "lower"),
    "evaluate_seconds": ("Time to evaluate", "s", "lower"),
    "watch_seconds": ("Time of the probes", "s", "lower"),
    "best_round": ("Round of the best", "", ""),  # this and the next are computed from others
    "round_seconds": ("Time per round", "s", "lower"),
    "seconds": ("Time to train and aggregate", "s", "lower"),
    "thousand_sample_passes": ("Computation", "1000 sample passes", "lower"),
    "megabytes": ("Traffic", "MB", "lower"),
    "megabytes_down": ("Traffic to clients", "MB", "lower"),
    "megabytes_up": ("Traffic from clients", "MB", "lower"),
}
OF_RUNS = ("run_id", "status", "tuned", "search", "substitutes")  # of a collected frame
HELD: dict[str, _Columns] = {  # tables on the clients' data, which every run has
    "clients": {
        "client": ("Client", "", ""),
        "label": ("Class", "", ""),
        "count": ("Training samples of the class", "", ""),
    },
    "holdings": {
        "client": ("Client", "", ""),
        "samples": ("Training samples", "", ""),
        "classes": ("Classes", "", ""),
        "few": ("Share of clients with one or two classes", "fraction", ""),
        "many": ("Share of clients with four or more classes", "fraction", ""),
    },
}

OF_EVERY_RUN = ("rounds", *HELD)  # tables of runs that need no probe
_TAKEN = {  # by what a probe declares: columns that are there without it
    "COLUMNS": (*ENGINE, *SCORES, *RunSpec.model_fields, *OF_RUNS),
    "TABLE": ("hue", "seed", "metric"),  # a report adds the first two, and claims the third
}


def columns(run: RunSpec) -> set[str]:
    """Columns of a run's history, scores per model of its parts, and tables' as 'steps/cosine'."""
    data = registry.find("dataset", run.dataset.name).constants
    numbers = run.dataset.params.get("regression") or data.get("CLASSES") == 0
    names = ["loss"] if numbers else [*SCORES]
    parts = [registry.find("method", part.name).constants for part in run.parts]
    models = [name for part in parts for name in part.get("MODELS", ())]
    suffixes = ["", *(f"[{name}]" for name in ("next", *models) if models)]
    prefixes = ["", "val_"] if run.validation else [""]
    scores = {f"{p}{score}{s}" for p in prefixes for score in names for s in suffixes}
    probes = [registry.find("probe", probe.name) for probe in run.watch]
    watched = {name for probe in probes for name in _declared(probe, "COLUMNS")}
    tables = HELD | {probe.name: _declared(probe, "TABLE") for probe in probes}
    held = {f"{table}/{name}" for table, names in tables.items() for name in names}
    return {*ENGINE, *scores, *watched, *held}


def measures(run: RunSpec, asked: Reading) -> bool:
    """Whether the run's history will have all columns from which something is read."""
    return {*asked.columns} <= columns(run)


def require_declared() -> None:
    """Raise `FedbenchError` if a probe, watched or not, declares its columns wrongly."""
    for probe in registry.entries("probe").values():
        for constant in _TAKEN:
            _declared(probe, constant)


def columns_of(table: str) -> _Columns:
    """What the columns of a probe's table, or of one that every run has, mean; none if unknown."""
    probe = registry.entries("probe").get(table)
    columns: _Columns = _declared(probe, "TABLE") if probe else HELD.get(table, {})
    return columns


def meaning(name: str) -> Meaning | None:
    """What 'accuracy', without prefix and suffix, or 'steps/cosine' means; None if not declared."""
    table, _, column = name.rpartition("/")
    probes = registry.entries("probe").values()
    others = [SCORES, ENGINE, *(_declared(probe, "COLUMNS") for probe in probes)]
    groups = [columns_of(table)] if table else others
    return next((Meaning(*group[column]) for group in groups if column in group), None)


def require_measured(metrics: Iterable[str], runs: list[RunSpec]) -> None:
    """Raise `FedbenchError` unless at least one of the runs will have a metric's columns."""
    kinds = {  # of runs that agree in this one is looked at
        (*(x and x.name for x in (*run.watch, None, *run.parts)), bool(run.validation)): run
        for run in runs
    }.values()
    known = set[str]().union(*map(columns, kinds))
    asked = (column for metric in metrics for column in reading(metric).columns)
    name = next((each for each in asked if each not in known), None)
    if name is None or not runs:
        return
    constant, column = ("TABLE", name.partition("/")[2]) if "/" in name else ("COLUMNS", name)
    for probe, entry in registry.entries("probe").items():
        if column in _declared(entry, constant) and name in (column, f"{probe}/{column}"):
            raise FedbenchError(f"'{name}' is written by the probe '{probe}', which no run watches")
    raise unknown("metric", name, [each for each in known if ("/" in each) == ("/" in name)])


@cache
def _declared(probe: registry.Entry, constant: str) -> Any:
    name, declared = probe.name, probe.constants.get(constant, {})
    place = f"probe '{name}': {constant}"
    if not isinstance(declared, dict):
        raise FedbenchError(f"{place} = {shown(declared)} must be a mapping, by column's name")
    if constant == "TABLE" and declared and name in OF_EVERY_RUN:
        raise FedbenchError(f"{place}: a run has a table of that name already; rename the probe")
    for column, meant in declared.items():
        texts = isinstance(meant, tuple) and [*map(type, meant)] == [str, str, str]
        if not texts or meant[2] not in ("higher", "lower", ""):
            raise FedbenchError(
                f"{place}: '{column}' has {shown(meant)}; it must have its label, its unit and "
                "'higher', 'lower' or '' for which is better: ('Gap', '%', 'lower')"
            )
        why = ""
        if column in _TAKEN[constant]:
            why = "it is a setting of runs or a column that every such frame has"
        elif "@" in column or "/" in column:
            why = "in a metric @ stands before a moment and / after a table"
        if why:
            raise FedbenchError(f"{place}: '{column}' is not allowed: {why}; give it another name")
    return declared


_MOMENTS = {
    "final": "final", "best": "best", "held-out": "at the round best on held-out data",
    "mean": "mean", "median": "median",
    "std": "standard deviation over the rounds", "jumps": "mean change between rounds",
}  # fmt: skip
_MODELS = {  # names that parts give to the models that they score, beside the headline
    "two": "the mean of the last two models",
    "all": "the mean of all clients' models",
    "selected": "the mean of the cohort's models",
    "next": "the model of the next round",
}
_COUNTED = {"round": "Rounds", "best_round": "Rounds"}  # labels of what is counted up to a target


@dataclass(frozen=True)
class Metric:
    """A column at a moment: `val_accuracy[two]@best`; one that is not declared is not ranked."""

    name: str

    @property
    def _base(self) -> str:
        return self.name.partition("@")[0].removeprefix("val_").partition("[")[0]

    @property
    def _meaning(self) -> Meaning:
        return meaning(self._base) or Meaning(self._base)

    @property
    def target(self) -> Target | None:
        """What is to be reached, of a metric such as `round@to:0.45`; None of all others."""
        return reading(self.name).target

    @property
    def is_score(self) -> bool:
        """Whether it is a fraction of 1 that may be shown in percent."""
        return self._meaning.unit == "fraction"

    @property
    def unit_of_differences(self) -> str:
        """Points, rounds, s, MB and the like; empty if it has no unit."""
        if self._base in _COUNTED:
            return "rounds"
        unit = self._meaning.unit
        return "points" if unit in ("fraction", "percentage points") else unit

    @property
    def is_of_labels(self) -> bool:
        """Whether it scores predicted labels, so that guessing gives one over their number."""
        return self._base in ("accuracy", "macro_f1") and reading(self.name).at not in VARYING

    @property
    def lower_is_better(self) -> bool:
        """Whether lower values are better, as of a spread and of what reaching a target takes."""
        spent = self.target is not None and self._meaning.better == ""
        varies = reading(self.name).at in VARYING
        return varies or spent or self._meaning.better == "lower"

    @property
    def is_cost(self) -> bool:
        """Whether it is what a run spent to its end, of which one that diverged spent less."""
        spent = ENGINE.keys() - {"train_loss", "round_seconds"}
        return self._base in spent and self._meaning.better == "lower" and self.target is None

    @property
    def is_ranked(self) -> bool:
        """Whether one value is better than another."""
        return self._meaning.better != "" or self.target is not None

    @property
    def label(self) -> str:
        """What readers are shown: the column's label, the model and the moment."""
        (text, unit, _), asked = self._meaning, reading(self.name, "")
        text = text if unit in ("", "fraction") else f"{text} ({unit})"
        if asked.target:  # '45 % accuracy', 'loss 0.3'
            goal, value = Metric(asked.target.column), asked.target.value
            what = goal.label.lower()
            words = f"{100 * value:g} % {what}" if goal.is_score else f"{what} {value:g}"
            return f"{_COUNTED.get(self._base, text)} until {words}"
        text = f"Validation {text.lower()}" if self.name.startswith("val_") else text
        if model := asked.metric.partition("[")[2].rstrip("]"):
            text += f" of {_MODELS.get(model, f'the model {model!r}')}"
        if not asked.at:
            return text
        if asked.at == "last":
            return f"{text}, mean of the last {asked.last} evaluations"
        if isinstance(asked.at, int):
            return f"{text} at round {asked.at}"
        within = f" (last {asked.last} rounds)" if asked.last else ""
        return f"{text}, {_MOMENTS[asked.at]}{within}"

    def factor(self, table: "Table") -> float:
        """What a value of the frame is multiplied by for the table."""
        return 100.0 if self.is_score and table.unit == "percent" else 1.0

    def points(self, table: "Table") -> float:
        """What a value of the table is multiplied by for a difference; scores then are points."""
        return 100.0 if self.is_score and table.unit == "fraction" else 1.0

    def point_digits(self, table: "Table") -> int:
        """Decimals of a difference that match the decimals of the table."""
        return table.digits - 2 if self.points(table) > 1 and table.digits > 2 else table.digits


def is_accuracy(tune: Tune) -> bool:
    """Whether scores are accuracies, or F1 scores, of which guessing gives some."""
    return tune.by in WORDS or (Metric(tune.by).is_of_labels and not Metric(tune.by).target)


def scored(tune: Tune) -> str:
    """The metric and moment by which trials are compared, of the data that they are scored on."""
    if tune.by in WORDS:
        return f"{'val_' if tune.on == 'held-out' else ''}accuracy@{tune.by}"
    if tune.on == "test":
        return tune.by
    asked = reading(tune.by)
    probed = {name for x in registry.entries("probe").values() for name in _declared(x, "COLUMNS")}
    if own := {x.partition("[")[0] for x in asked.columns} & probed:
        said = f"tune.by = {tune.by}: {min(own)} is not measured on held-out data"
        raise FedbenchError(f'{said}; write "on": test to search on the test set')
    metric, target = _held_out(asked.metric), asked.target
    after = f"to:{_held_out(target.column)}={target.value!r}" if target else asked.moment
    return f"{metric}@{after}"


def _held_out(column: str) -> str:
    return f"val_{column}" if column.partition("[")[0] in SCORES else column

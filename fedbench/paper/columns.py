"""The columns that a run's history will have, and the tables beside it, before it is trained."""

from typing import Any

from fedbench.base import registry
from fedbench.base.errors import FedbenchError, shown, unknown
from fedbench.spec import RunSpec

_Columns = dict[str, tuple[str, str, str]]
_BETTER = ("", "higher", "lower")
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

_FILES = ("rounds", *HELD)  # tables of a run's folder
_TAKEN = {  # by what a probe declares: columns that are there without it
    "COLUMNS": (*ENGINE, *SCORES, *RunSpec.model_fields, *OF_RUNS),
    "TABLE": ("hue", "seed", "metric"),  # a report adds the first two, and claims the third
}


def columns(run: RunSpec) -> set[str]:
    """The columns of a run's history; scores have one per model that the run's parts name."""
    models = [name for part in run.parts for name in _declared("method", part.name, "MODELS")]
    suffixes = ["", *(f"[{name}]" for name in ("next", *models) if models)]
    prefixes = ["", "val_"] if run.validation else [""]
    scores = {f"{p}{score}{s}" for p in prefixes for score in SCORES for s in suffixes}
    watched = {name for probe in run.watch for name in _declared("probe", probe.name, "COLUMNS")}
    return {*ENGINE, *scores, *watched}


def tables(run: RunSpec) -> set[str]:
    """The columns of a run's other tables, as 'table/column', such as 'steps/cosine'."""
    written = {p.name: _declared("probe", p.name, "TABLE") for p in run.watch}
    return {f"{table}/{name}" for table, names in (written | HELD).items() for name in names}


def meaning(name: str) -> tuple[str, str, str] | None:
    """A column's label, unit and which direction is better; None if it is not declared.

    name: a column of the history without prefix and suffix ('accuracy'), or one of a table
    ('steps/cosine').
    """
    table, _, column = name.rpartition("/")
    if table:
        probes = registry.entries("probe")
        written = _declared("probe", table, "TABLE") if table in probes else HELD.get(table, {})
        return written.get(column)
    declared = (_declared("probe", probe, "COLUMNS") for probe in registry.entries("probe"))
    return next((group[name] for group in (SCORES, ENGINE, *declared) if name in group), None)


def require_column(name: str, runs: list[RunSpec]) -> None:
    """Raise `FedbenchError` unless at least one of the runs will have the column."""
    kinds = {_kind(run): run for run in runs}.values()
    every = [(columns(run), tables(run)) for run in kinds]  # both: what probes declare is checked
    names = set().union(*(there["/" in name] for there in every))
    if name in names or not runs:
        return
    constant, column = ("TABLE", name.partition("/")[2]) if "/" in name else ("COLUMNS", name)
    for probe in registry.entries("probe"):
        if column in _declared("probe", probe, constant) and name in (column, f"{probe}/{column}"):
            raise FedbenchError(f"'{name}' is written by the probe '{probe}', which no run watches")
    raise unknown("metric", name, names)


def _kind(run: RunSpec) -> tuple[object, ...]:
    """What decides which columns a run has; of runs that agree in it one is looked at."""
    choices = (*run.watch, None, *run.parts)
    return (*(choice and choice.name for choice in choices), bool(run.validation))


def _declared(kind: str, name: str, constant: str) -> Any:
    """A class's literal constant: models by name, or columns with what they mean."""
    declared = registry.find(kind, name).constants.get(constant, {})
    if kind == "probe":
        _require_meanings(f"probe '{name}': {constant}", declared)
        _require_free(f"probe '{name}': {constant}", declared, _TAKEN[constant])
    if constant == "TABLE" and declared and name in _FILES:
        raise FedbenchError(
            f"probe '{name}': TABLE: a run has a table of that name already; rename the probe"
        )
    return declared


def _require_free(where: str, declared: _Columns, taken: tuple[str, ...]) -> None:
    """Raise `FedbenchError` for a column that its frame has already, or that no metric can name."""
    for column in declared:
        if column in taken:
            raise FedbenchError(
                f"{where}: '{column}' is not allowed: it is a setting of runs or a column that "
                "every such frame has; give it another name"
            )
        if "@" in column or "/" in column:
            raise FedbenchError(
                f"{where}: '{column}' is not allowed: in a metric @ stands before a moment and / "
                "after a table; give it another name"
            )


def _require_meanings(where: str, declared: Any) -> None:
    """Raise `FedbenchError` unless it is a mapping from columns to what they mean."""
    if not isinstance(declared, dict):
        raise FedbenchError(f"{where} = {shown(declared)} must be a mapping, by column's name")
    for column, said in declared.items():
        parts = said if isinstance(said, tuple) else ()
        if len(parts) != 3 or not all(isinstance(x, str) for x in parts) or parts[2] not in _BETTER:
            raise FedbenchError(
                f"{where}: '{column}' has {shown(said)}; it must have its label, its unit and "
                "'higher', 'lower' or '' for which is better: ('Gap', '%', 'lower')"
            )

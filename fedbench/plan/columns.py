"""The columns that a run's history will have, and the tables beside it, before it is trained."""

from fedbench.base import registry
from fedbench.base.errors import FedbenchError, unknown
from fedbench.spec import RunSpec

_SCORES = ("loss", "accuracy", "macro_f1")
_ENGINE = (
    *("round", "eta", "train_loss", "cohort", "step_norm", "floats_down", "floats_up"),
    *("train_seconds", "server_seconds", "evaluate_seconds", "watch_seconds"),
    *("best_round", "round_seconds"),  # computed when the histories are read
)
_HELD = (
    *(("clients", name) for name in ("client", "label", "count")),
    *(("holdings", name) for name in ("client", "samples", "classes", "few", "many")),
)  # tables that every run has: who holds how many samples of which class


def columns(run: RunSpec) -> set[str]:
    """The columns of a run's history; scores have one per model that the run's parts name."""
    models = [name for part in run.parts for name in _declared("method", part.name, "MODELS")]
    suffixes = ["", *(f"[{name}]" for name in ("next", *models) if models)]
    prefixes = ["", "val_"] if run.validation else [""]
    scores = {f"{p}{score}{s}" for p in prefixes for score in _SCORES for s in suffixes}
    watched = {name for probe in run.watch for name in _declared("probe", probe.name, "COLUMNS")}
    return {*_ENGINE, *scores, *watched}


def tables(run: RunSpec) -> set[str]:
    """The columns of a run's other tables, as 'table/column', such as 'steps/cosine'."""
    pairs = [(p.name, name) for p in run.watch for name in _declared("probe", p.name, "TABLE")]
    return {f"{table}/{name}" for table, name in (*pairs, *_HELD)}


def require_column(name: str, runs: list[RunSpec]) -> None:
    """Raise `FedbenchError` unless at least one of the runs will have the column."""
    kinds = {_kind(run): run for run in runs}.values()
    found = set().union(*(tables(run) if "/" in name else columns(run) for run in kinds))
    if name in found or not runs:
        return
    constant, column = ("TABLE", name.partition("/")[2]) if "/" in name else ("COLUMNS", name)
    for probe in registry.entries("probe"):
        if column in _declared("probe", probe, constant) and name in (column, f"{probe}/{column}"):
            raise FedbenchError(f"'{name}' is written by the probe '{probe}', which no run watches")
    raise unknown("metric", name, found)


def _kind(run: RunSpec) -> tuple[object, ...]:
    """What decides which columns a run has; runs alike in it need not be looked at twice."""
    choices = (*run.watch, None, *run.parts)
    return (*(choice and choice.name for choice in choices), bool(run.validation))


def _declared(kind: str, name: str, constant: str) -> tuple[str, ...]:
    found: tuple[str, ...] = registry.find(kind, name).constants.get(constant, ())
    return found

"""The columns that tables, figures and claims may name: label, unit and which way is better."""

from docs.generate.markdown import code, escaped, table
from fedbench.base import registry
from fedbench.paper.metrics import ENGINE, HELD, SCORES

_Columns = dict[str, tuple[str, str, str]]

_HEADER = ("column", "what it is", "unit", "better")


def scores() -> str:
    """The columns that score a model."""
    return _table(SCORES)


def engine() -> str:
    """The other columns that every run has."""
    return _table(ENGINE)


def probes() -> str:
    """The columns that probes add to the history or write into tables, by probe."""
    tables = [_table(columns, f"{table}/") for table, columns in HELD.items()]
    for name, entry in registry.entries("probe").items():
        written = entry.constants
        both = [(written.get("COLUMNS") or {}, ""), (written.get("TABLE") or {}, f"{name}/")]
        sections = [_table(columns, prefix) for columns, prefix in both if columns]
        tables.append("\n\n".join([f"### From the probe {name}", *sections]))
    return "\n\n".join(["### From every run", *tables])


def _table(columns: _Columns, prefix: str = "") -> str:
    rows = [
        [code(f"{prefix}{name}"), escaped(label), escaped(unit), better or "–"]
        for name, (label, unit, better) in columns.items()
    ]
    return table(_HEADER, rows)

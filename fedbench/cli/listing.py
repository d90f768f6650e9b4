"""What `fedbench list` shows: methods, data sets, models, partitions, samplers, probes, papers."""

import dataclasses
import re
from collections import Counter
from pathlib import Path
from typing import Any

from fedbench.base import registry
from fedbench.base.checks import allowed, hints
from fedbench.cli.parameters import written
from fedbench.paper.compositions import Composition, compositions
from fedbench.paper.paper import load_papers

Row = dict[str, Any]

_FLOATS = ("down", "up", "client_memory", "server_memory")  # of a cost, counted in model sizes
_NEEDS = ("proxy_data", "needs_head", "needs_projection", "computes_at_server")
_SOURCE = re.compile(r'et al\.,|\b(19|20)\d\d\b|\b(?!The)[A-Z]\w+ paper\b|"[A-Z][^"]{15,}"')


def catalogue(kind: str) -> list[Row]:
    """One row per entry of a kind: name, summary, about, and parameters with default and range.

    Rows of methods have more (see `_method`); the parts come first, then the published methods.
    """
    rows = [_row(kind, entry) for entry in registry.entries(kind).values()]
    if kind == "method":
        rows += [_composition(name, method) for name, method in compositions().items()]
    return rows


def overview(kind: str) -> list[Row]:
    """Name, summary, about and parameters of the same rows; imports no torch but for plug-ins."""
    rows = [
        _told(entry) | {"parameters": _parameters_of(entry)}
        for entry in registry.entries(kind).values()
    ]
    if kind == "method":
        rows += [_composed(name, method) for name, method in compositions().items()]
    return rows


def papers(workflow: Path) -> list[Row]:
    """One row per paper: name, title, titles of tables and of figures."""
    return [
        {
            "name": name,
            "title": paper.title,
            "tables": ", ".join(table.title for table in paper.tables.values()),
            "figures": ", ".join(figure.title for figure in paper.figures.values()),
        }
        for name, paper in load_papers(workflow).items()
    ]


def _row(kind: str, entry: registry.Entry) -> Row:
    row = _told(entry) | {"parameters": _parameters_of(entry)}
    if kind == "method":
        row |= _method([(entry.name, entry.load()())], citation(entry.doc))
    return row


def _told(entry: registry.Entry) -> Row:
    summary, _, rest = entry.doc.partition("\n")
    return {"name": entry.name, "summary": summary, "about": rest.strip()}


def _parameters_of(entry: registry.Entry) -> list[Row]:
    found = written(entry)
    return _parameters(entry.load()) if found is None else found


def _composition(name: str, method: Composition) -> Row:
    """A named method: what it is made of, and what its parts amount to together."""
    parts = [(p.name, registry.build("method", p.name, p.params)) for p in method.parts]
    return _composed(name, method) | _method(parts, method.citation)


def _composed(name: str, method: Composition) -> Row:
    made_of = " + ".join(str(p) for p in method.parts) or "no parts"
    needs = "".join(f", with {k} = {v}" for k, v in method.settings.items())
    parameters = [
        {
            **row,
            "name": f"{part.name}.{row['name']}",
            "value": part.params.get(row["name"], row.get("default")),
        }
        for part in method.parts
        for row in _parameters_of(registry.find("method", part.name))
    ]
    note = f"; {method.note}" if method.note else ""
    row: Row = {"name": name, "summary": made_of + needs + note, "about": ""}
    return row | {"parameters": parameters, "with": method.settings, "papers": list(method.papers)}


def _method(parts: list[tuple[str, Any]], source: str) -> Row:
    """citation, parts, hooks, cost beyond FedAvg, what is shared or needed, local optimisers."""
    from fedbench.core.conflicts import holds_for

    row: Row = {"citation": source, "parts": [name for name, _ in parts]}
    row["hooks"] = list(dict.fromkeys(h for _, part in parts for h in _hooks(type(part))))
    row["cost"] = _cost([part for _, part in parts])
    row["shares"] = "; ".join(part.shares for _, part in parts if part.shares)
    row |= {need: any(getattr(part, need) for _, part in parts) for need in _NEEDS}
    row["local_optimisers"] = holds_for([part for _, part in parts])
    row["sequential"] = "; ".join(part.sequential for _, part in parts if part.sequential)
    return row


def citation(doc: str) -> str:
    """The sentences of a method's docstring that name where it was published."""
    sentences = re.split(r"(?<=[.;])\s+", " ".join(doc.split()))
    sources = [s for s in sentences if _SOURCE.search(s) and not s.startswith("Deviation")]
    return " ".join(sources).rstrip(";.")


def _parameters(cls: Any) -> list[Row]:
    types = hints(cls)
    return [
        {"name": f.name, **_default(f), "allowed": allowed(types[f.name])}
        for f in dataclasses.fields(cls)
    ]


def _default(f: "dataclasses.Field[Any]") -> Row:
    """The default of a field; none if it must be given."""
    if f.default is not dataclasses.MISSING:
        return {"default": f.default}
    return {} if f.default_factory is dataclasses.MISSING else {"default": f.default_factory()}


def _hooks(cls: type) -> list[str]:
    from fedbench.core.part import Part

    hooks = [k for k, v in vars(Part).items() if callable(v) and not k.startswith("_")]
    return [k for k in hooks if k != "cost" and getattr(cls, k) is not getattr(Part, k)]


def _cost(parts: list[Any]) -> Row:
    """What the parts add to FedAvg; numbers of floats are given in model sizes (d = 100,000)."""
    from fedbench.core.part import USUAL, Cost

    total: Counter[str] = Counter({field.name: 0 for field in dataclasses.fields(Cost)})
    for part in parts:
        total.update(dataclasses.asdict(part.cost(USUAL)))
    floats = {f"{k}_in_d": total.pop(k) / USUAL.d for k in _FLOATS}
    return {**total, **floats}

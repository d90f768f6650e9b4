"""What there is: every method, dataset, model, partition and sampler, and the papers."""

import dataclasses
from pathlib import Path
from typing import Any

from fedbench import registry
from fedbench.checked import allowed, hints
from fedbench.paper import load_papers

Row = dict[str, Any]
PASSES = ("forward", "teachers", "backward")


def catalogue(kind: str) -> list[Row]:
    """name, summary, documentation, parameters with defaults and ranges; cost for methods."""
    return [_row(kind, entry) for entry in registry.entries(kind).values()]


def papers(workflow: Path) -> list[Row]:
    """name, title, tables and figures of every paper."""
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
    cls = entry.load()
    summary, _, rest = entry.doc.partition("\n")
    row: Row = {"name": entry.name, "summary": summary, "about": rest.strip()}
    row["parameters"] = _parameters(cls)
    if kind == "method":
        row["hooks"] = _hooks(cls)
        row["cost"] = _cost(cls)
    return row


def _parameters(cls: Any) -> list[Row]:
    found = hints(cls)
    return [
        {"name": f.name, "default": f.default, "allowed": allowed(found[f.name])}
        for f in dataclasses.fields(cls)
    ]


def _hooks(cls: type) -> list[str]:
    from fedbench.part import Part

    known = [k for k, v in vars(Part).items() if callable(v) and not k.startswith("_")]
    return [k for k in known if k != "cost" and getattr(cls, k) is not getattr(Part, k)]


def _cost(cls: type) -> Row:
    """What the method adds to FedAvg; d = 1,000 weights, 10 classes, 10 of 100 clients."""
    from fedbench.part import Sizes

    cost = dataclasses.asdict(cls().cost(Sizes(d=1000, classes=10, K=100, m=10, epochs=1)))
    counts = {k: v for k, v in cost.items() if k in PASSES or k.startswith("ops_")}
    return counts | {f"{k}_in_d": v / 1000 for k, v in cost.items() if k not in counts}

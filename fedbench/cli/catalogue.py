"""What there is, one row each: methods, data sets, models, partitions, samplers, probes, papers."""

import ast
import dataclasses
import re
import typing
from collections import Counter
from pathlib import Path
from typing import Any

from fedbench.base import checks, registry
from fedbench.base.checks import allowed, hints
from fedbench.base.checksums import parsed
from fedbench.spec.compositions import Composition, compositions

Row = dict[str, Any]

_FLOATS = ("down", "up", "client_memory", "server_memory")  # of a cost, counted in model sizes
_NEEDS = ("proxy_data", "needs_head", "needs_projection", "computes_at_server")
_SOURCE = re.compile(r'et al\.,|\b(19|20)\d\d\b|\b(?!The)[A-Z]\w+ paper\b|"[A-Z][^"]{15,}"')


def summaries(kind: str) -> list[Row]:
    """One row per entry of a kind: name, summary, about, and parameters with default and range.

    Of methods the published ones come first, then their parts. Imports torch for plug-ins alone.
    """
    named = compositions() if kind == "method" else {}
    rows = [_composition(name, method) for name, method in named.items()]
    return rows + [_entry(entry) for entry in registry.entries(kind).values()]


def catalogue(kind: str) -> list[Row]:
    """The same rows; those of methods have more (see `_method`), for which they are imported."""
    rows = summaries(kind)
    if kind != "method":
        return rows
    methods = []
    for named in compositions().values():
        parts = [(part.name, registry.build(kind, part.name, part.params)) for part in named.parts]
        methods.append((parts, named.citation))
    methods += [([(e.name, e.load()())], citation(e.doc)) for e in registry.entries(kind).values()]
    return [row | _method(*each) for row, each in zip(rows, methods, strict=True)]


def papers(workflow: Path) -> list[Row]:
    """One row per paper: name, title, and the titles of tables, figures and claims by their keys.

    `about` has a line for each of them: 'table1  Table I'.
    """
    from fedbench.paper.paper import load_papers, with_rounds

    rows: list[Row] = []
    for name, raw in load_papers(workflow).items():
        paper = with_rounds(raw)
        tables, figures = (
            {key: item.title for key, item in items.items()}
            for items in (paper.tables, paper.figures)
        )
        claims = {key: claim.text for key, claim in paper.claims.items()}
        items = {"tables": tables, "figures": figures, "claims": claims}
        lines: list[str] = []
        for kind, titles in items.items():
            lines += [kind, *(f"  {key}  {' '.join(x.split())}" for key, x in titles.items())]
        rows.append({"name": name, "title": paper.title, "about": "\n".join(lines), **items})
    return rows


def _entry(entry: registry.Entry) -> Row:
    summary, _, rest = entry.doc.partition("\n")
    row = {"name": entry.name, "summary": summary, "about": rest.strip()}
    return row | {"parameters": _parameters(entry)}


def _composition(name: str, method: Composition) -> Row:
    """A named method: what it is made of, where it was published, and its parts' parameters."""
    made_of = " + ".join(str(part) for part in method.parts) or "no parts"
    needs = "".join(f", with {k} = {v}" for k, v in method.settings.items())
    note = f"; {method.note}" if method.note else ""
    parameters = [
        {
            **row,
            "name": f"{part.name}.{row['name']}",
            "value": part.params.get(row["name"], row.get("default")),
        }
        for part in method.parts
        for row in _parameters(registry.find("method", part.name))
    ]
    docs = [f"{part.name}: {registry.find('method', part.name).doc}" for part in method.parts]
    about = "\n\n".join(filter(None, [method.citation, *docs]))
    row: Row = {"name": name, "summary": made_of + needs + note, "about": about}
    return row | {"parameters": parameters, "with": method.settings, "papers": list(method.papers)}


def _method(parts: list[tuple[str, Any]], source: str) -> Row:
    """citation, parts, hooks, cost beyond FedAvg, what is shared or needed, local optimisers."""
    from fedbench.core.conflicts import holds_for

    built = [part for _, part in parts]
    return {
        "citation": source,
        "parts": [name for name, _ in parts],
        "hooks": list(dict.fromkeys(hook for part in built for hook in _hooks(type(part)))),
        "cost": _cost(built),
        "shares": "; ".join(part.shares for part in built if part.shares),
        **{need: any(getattr(part, need) for part in built) for need in _NEEDS},
        "local_optimisers": holds_for(built),
        "sequential": "; ".join(part.sequential for part in built if part.sequential),
    }


def citation(doc: str) -> str:
    """The sentences of a method's docstring that name where it was published."""
    sentences = re.split(r"(?<=[.;])\s+", " ".join(doc.split()))
    sources = [s for s in sentences if _SOURCE.search(s) and not s.startswith("Deviation")]
    return " ".join(sources).rstrip(";.")


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


def _parameters(entry: registry.Entry) -> list[Row]:
    written = written_parameters(entry)
    return parameters_of(entry.load()) if written is None else written


def parameters_of(cls: Any) -> list[Row]:
    """Name, default and range of each parameter of a dataclass; no default if it must be given."""
    types = hints(cls)
    return [
        {"name": f.name, **_default(f), "allowed": allowed(types[f.name])}
        for f in dataclasses.fields(cls)
    ]


def _default(f: "dataclasses.Field[Any]") -> Row:
    if f.default is not dataclasses.MISSING:
        return {"default": f.default}
    return {} if f.default_factory is dataclasses.MISSING else {"default": f.default_factory()}


def written_parameters(entry: registry.Entry) -> list[Row] | None:
    """The same as the file of an entry writes them; None if it must be imported to know them.

    That is so for plug-ins, for a default that is computed, and for a parameter without one.
    """
    if entry.sha256:
        return None
    node, names = _class_and_names(entry)
    hinted = {ast.unparse(x.target): x for x in node.body if isinstance(x, ast.AnnAssign)}
    rows = []
    for name, default in entry.fields.items():
        if default is None and name not in entry.nulls:
            return None
        try:  # fedbench's own files
            hint = eval(ast.unparse(hinted[name].annotation), names)  # noqa: S307
        except NameError:
            return None
        rows.append({"name": name, "default": default, "allowed": allowed(hint)})
    return rows


def _class_and_names(entry: registry.Entry) -> tuple[ast.ClassDef, dict[str, Any]]:
    """The class, and what its annotations may name: ranges, and names that the file gives some."""
    names = vars(typing) | vars(checks)
    for node in parsed(entry.file, entry.file.read_bytes()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            words = ast.unparse(node.value)
            if words.startswith(("Annotated[", "Literal[")):
                names[node.targets[0].id] = eval(words, names)  # noqa: S307
        if isinstance(node, ast.ClassDef) and node.name == entry.attribute:
            return node, names
    raise AssertionError(f"{entry.file} has no class {entry.attribute}")

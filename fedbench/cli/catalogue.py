"""The command `list`: what there is of methods, data sets, models, papers and the like."""

import dataclasses
import re
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from fedbench.base import registry
from fedbench.base.checks import allowed, hints
from fedbench.base.errors import unknown
from fedbench.cli import options
from fedbench.cli.app import Panel, app, console, print_json, print_line, table_of

if TYPE_CHECKING:  # other commands must not wait for what this one needs
    from fedbench.spec.compositions import Composition

Row = dict[str, Any]

_FLOATS = ("down", "up", "client_memory", "server_memory")  # of a cost, counted in model sizes
_NEEDS = ("proxy_data", "needs_head", "needs_projection", "computes_at_server")
_SOURCE = re.compile(r'et al\.,|\b(19|20)\d\d\b|\b(?!The)[A-Z]\w+ paper\b|"[A-Z][^"]{15,}"')


def summaries(kind: str, *, full: bool = False) -> list[Row]:
    """One row per entry of a kind: name, summary, about; of methods the published ones come first.

    If `full` also its parameters with default and range, for which the entries are imported.
    """
    from fedbench.spec.compositions import compositions

    named = compositions() if kind == "method" else {}
    rows = [_composition(name, method, full) for name, method in named.items()]
    return rows + [_entry(entry, full) for entry in registry.entries(kind).values()]


def catalogue(kind: str) -> list[Row]:
    """The full rows; those of methods have more, see `_method`."""
    from fedbench.spec.compositions import compositions

    rows = summaries(kind, full=True)
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
        items = {
            "tables": {key: table.title for key, table in paper.tables.items()},
            "figures": {key: figure.title for key, figure in paper.figures.items()},
            "claims": {key: claim.text for key, claim in paper.claims.items()},
        }
        lines: list[str] = []
        for kind, titles in items.items():
            lines += [kind, *(f"  {key}  {' '.join(x.split())}" for key, x in titles.items())]
        rows.append({"name": name, "title": paper.title, "about": "\n".join(lines), **items})
    return rows


def _entry(entry: registry.Entry, full: bool) -> Row:
    summary, _, rest = entry.doc.partition("\n")
    row: Row = {"name": entry.name, "summary": summary, "about": rest.strip()}
    return row | ({"parameters": parameters_of(entry.load())} if full else {})


def _composition(name: str, method: "Composition", full: bool) -> Row:
    made_of = " + ".join(str(part) for part in method.parts) or "no parts"
    needs = "".join(f", with {k} = {v}" for k, v in method.settings.items())
    note = f"; {method.note}" if method.note else ""
    entries = [(part, registry.find("method", part.name)) for part in method.parts]
    docs = [f"{part.name}: {entry.doc}" for part, entry in entries]
    about = "\n\n".join(filter(None, [method.citation, *docs]))
    row: Row = {"name": name, "summary": made_of + needs + note, "about": about}
    if full:
        row["parameters"] = [
            {
                **own,
                "name": f"{part.name}.{own['name']}",
                "value": part.params.get(own["name"], own.get("default")),
            }
            for part, entry in entries
            for own in parameters_of(entry.load())
        ]
    return row | {"with": method.settings, "papers": list(method.papers)}


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


def _hooks(cls: Any) -> list[str]:
    from fedbench.core.part import Part

    hooks = [k for k, v in vars(Part).items() if callable(v) and not k.startswith("_")]
    own = [k for k in hooks if k != "cost" and getattr(cls, k) is not getattr(Part, k)]
    declared = {"server": cls.keeps, "send": cls.sends}
    return [k for k in hooks if k in own or declared.get(k)]


def _cost(parts: list[Any]) -> Row:
    """What the parts add to FedAvg; numbers of floats are given in model sizes (d = 100,000)."""
    from fedbench.core.part import USUAL, Cost

    total: Counter[str] = Counter({field.name: 0 for field in dataclasses.fields(Cost)})
    for part in parts:
        total.update(dataclasses.asdict(part.cost(USUAL)))
    floats = {f"{k}_in_d": total.pop(k) / USUAL.d for k in _FLOATS}
    return {**total, **floats}


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


class Kind(StrEnum):
    """The kinds of things that can be listed."""

    methods = "methods"
    datasets = "datasets"
    models = "models"
    partitions = "partitions"
    shifts = "shifts"
    samplers = "samplers"
    work = "work"
    probes = "probes"
    papers = "papers"


@app.command("list", rich_help_panel=Panel.runs)
def list_(
    kind: Annotated[
        Kind | None, typer.Argument(help="What to list. Default: how many there are of each.")
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Only these, each with all that is said of it. Default: all."),
    ] = None,
    full: options.Full = False,
    as_json: options.AsJson = False,
    workflow: options.Workflow = options.WORKFLOW,
) -> None:
    """Show the methods, datasets, models, partitions, samplers, probes or papers there are.

    With `--full` or a name parameters are shown with their default and the values allowed. The name
    of a method, such as MOON, may stand among the `parts` of a run or of a paper's level.
    """
    full = full or bool(names)
    if kind is None:
        counts = {each: len(_rows(each, workflow)) for each in Kind}
        console.print(table_of({"kind": k, "there are": str(n)} for k, n in counts.items()))
        print_line("One kind: fedbench list methods. All about one: fedbench list methods FedDyn")
        return
    word = kind.value.removesuffix("s")
    rows = catalogue(word) if as_json and kind is not Kind.papers else _rows(kind, workflow, full)
    rows = _named(rows, word, names or [])
    if as_json:
        print_json(rows, indent=2)
        return
    columns = ["title", "tables", "figures", "claims"] if kind is Kind.papers else ["summary"]
    columns += ["parameters"] * (kind is not Kind.papers and full)
    shown = ({column: text_of(row[column]) for column in ("name", *columns)} for row in rows)
    console.print(table_of(shown))
    for row in rows if full else []:
        if about := row.get("about"):
            console.print(Text(f"{row['name']}\n{about}\n"))


def _rows(kind: Kind, workflow: Path, full: bool = False) -> list[Row]:
    if kind is Kind.papers:
        return papers(workflow)
    return summaries(kind.value.removesuffix("s"), full=full)


def _named(rows: list[Row], kind: str, names: list[str]) -> list[Row]:
    known = {row["name"].lower() for row in rows}
    for name in names:
        if name.lower() not in known:
            raise unknown(kind, name, (row["name"] for row in rows))
    wanted = {name.lower() for name in names} or known
    return [row for row in rows if row["name"].lower() in wanted]


def text_of(value: object) -> str:
    """One parameter per line, `mu = 0.01, a number ≥ 0`; of a named method those that it sets.

    Of things by their keys the number is told.
    """
    if isinstance(value, dict):
        return str(len(value))
    if isinstance(value, list):
        chosen = [p for p in value if "value" not in p or p["value"] != p.get("default")]
        return "\n".join(f"{p['name']}{_given(p)}, {p['allowed']}" for p in chosen)
    return str(value)


def _given(parameter: dict[str, object]) -> str:
    if "value" in parameter or "default" in parameter:
        return f" = {parameter.get('value', parameter.get('default'))}"
    return " (required)"

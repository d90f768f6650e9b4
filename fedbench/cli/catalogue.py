"""The command `list`: what there is of methods, data sets, models, papers and the like."""

import dataclasses
import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from fedbench.base import registry
from fedbench.base.checks import allowed, hints
from fedbench.base.errors import unknown
from fedbench.cli import options
from fedbench.cli.app import Panel, app, console, print_json, print_line, table_of
from fedbench.spec import Choice
from fedbench.spec.compositions import compositions

Row = dict[str, Any]
Kind = StrEnum(  # what can be listed
    "Kind", "methods datasets models partitions shifts samplers work probes papers"
)

_COLUMNS = ("name", "title", "tables", "figures", "claims", "summary", "parameters")
_FLOATS = ("down", "up", "client_memory", "server_memory")  # of a cost, counted in model sizes
_NEEDS = ("needs_classes", "proxy_data", "needs_head", "needs_projection", "computes_at_server")
_KIND = "What to list. Default: how many there are of each."
_NAMES = "Only these, each with all that is said of it. Default: all."
_SOURCE = re.compile(r'et al\.,|\b(19|20)\d\d\b|\b(?!The)[A-Z]\w+ paper\b|"[A-Z][^"]{15,}"')


def summaries(kind: str, *, full: bool = False) -> list[Row]:
    """One row per entry of a kind, published methods first; if `full` also with its parameters."""
    rows: list[Row] = []
    for name, method in compositions().items() if kind == "method" else ():
        made_of = " + ".join(str(part) for part in method.parts) or "no parts"
        needs = "".join(f", with {k} = {v}" for k, v in method.settings.items())
        note = f"; {method.note}" if method.note else ""
        entries = [(part, registry.find("method", part.name)) for part in method.parts]
        docs = [f"{part.name}: {entry.doc}" for part, entry in entries]
        about = "\n\n".join(filter(None, [method.citation, *docs]))
        row: Row = {"name": name, "summary": made_of + needs + note, "about": about}
        if full:
            row["parameters"] = [
                own | {"name": f"{part.name}.{own['name']}",
                       "value": part.params.get(own["name"], own.get("default"))}
                for part, entry in entries
                for own in parameters_of(entry.load())
            ]  # fmt: skip
        rows.append(row | {"with": method.settings, "papers": list(method.papers)})
    for entry in registry.entries(kind).values():
        summary, _, rest = entry.doc.partition("\n")
        row = {"name": entry.name, "summary": summary, "about": rest.strip()}
        rows.append(row | ({"parameters": parameters_of(entry.load())} if full else {}))
    return rows


def catalogue(kind: str) -> list[Row]:
    """The full rows; those of methods also say where they are from, what they do, need and cost."""
    from fedbench.core.part import USUAL, Part
    from fedbench.core.part_conflicts import holds_for
    from fedbench.report.facts.methods import added_cost

    rows = summaries(kind, full=True)
    if kind != "method":
        return rows
    methods = [(named.parts, named.citation) for named in compositions().values()]
    entries = registry.entries(kind).values()
    methods += [((Choice(name=entry.name),), citation(entry.doc)) for entry in entries]
    hooks = [k for k, v in vars(Part).items() if callable(v) and k[0] != "_" and k != "cost"]
    for row, (parts, source) in zip(rows, methods, strict=True):
        built = [part.build(kind) for part in parts]
        cost = added_cost(built, USUAL)
        own: list[str] = []
        for part in built:
            declared = {"server": part.keeps, "client": part.OWN or part.client_keeps}
            declared["send"] = part.sends
            changed = {k for k in hooks if getattr(type(part), k) is not getattr(Part, k)}
            own += [k for k in hooks if k in changed or declared.get(k)]
        # numbers of floats are given in model sizes (d = 100,000)
        floats = {f"{k}_in_d": cost.pop(k) / USUAL.d for k in _FLOATS}
        row |= {"citation": source, "parts": [part.name for part in parts]}
        row |= {"hooks": list(dict.fromkeys(own)), "cost": {**cost, **floats}}
        row["shares"] = "; ".join(part.shares for part in built if part.shares)
        row |= {need: any(getattr(part, need) for part in built) for need in _NEEDS}
        row["local_optimisers"] = holds_for(built)
        row["sequential"] = "; ".join(part.sequential for part in built if part.sequential)
    return rows


def papers(workflow: Path) -> list[Row]:
    """One row per paper: name, title, and titles of tables, figures and claims by their keys."""
    from fedbench.paper.paper import load_papers, with_rounds

    rows: list[Row] = []
    for name, raw in load_papers(workflow)[0].items():
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


def citation(doc: str) -> str:
    """The sentences of a method's docstring that name where it was published."""
    sentences = re.split(r"(?<=[.;])\s+", " ".join(doc.split()))
    sources = [s for s in sentences if _SOURCE.search(s) and not s.startswith("Deviation")]
    return " ".join(sources).rstrip(";.")


def parameters_of(cls: Any) -> list[Row]:
    """Name, default and range of each parameter of a dataclass; no default if it must be given."""
    types, rows = hints(cls), []
    for f in dataclasses.fields(cls):
        row: Row = {"name": f.name}
        if f.default is not dataclasses.MISSING:
            row["default"] = f.default
        elif f.default_factory is not dataclasses.MISSING:
            row["default"] = f.default_factory()
        rows.append(row | {"allowed": allowed(types[f.name])})
    return rows


@app.command("list", rich_help_panel=Panel.runs)
def list_(
    kind: Annotated[Kind | None, typer.Argument(help=_KIND)] = None,
    names: Annotated[list[str] | None, typer.Argument(help=_NAMES)] = None,
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
        if as_json:
            print_json(counts)
            return
        console.print(table_of({"kind": k, "there are": str(n)} for k, n in counts.items()))
        print_line("One kind: fedbench list methods. All about one: fedbench list methods FedDyn")
        return
    word = kind.value.removesuffix("s")
    rows = catalogue(word) if as_json and kind is not Kind.papers else _rows(kind, workflow, full)
    known = {row["name"].lower() for row in rows}
    for name in names or ():
        if name.lower() not in known:
            raise unknown(word, name, (row["name"] for row in rows))
    wanted = {name.lower() for name in names or known}
    rows = [row for row in rows if row["name"].lower() in wanted]
    if as_json:
        print_json(rows, indent=2)
        return
    console.print(table_of({c: text_of(row[c]) for c in _COLUMNS if c in row} for row in rows))
    for row in rows if full else []:
        if about := row["about"]:
            console.print(Text(f"{row['name']}\n{about}\n"))


def _rows(kind: Kind, workflow: Path, full: bool = False) -> list[Row]:
    word = kind.value.removesuffix("s")
    return papers(workflow) if kind is Kind.papers else summaries(word, full=full)


def text_of(value: object) -> str:
    """One parameter per line, `mu = 0.01, a number ≥ 0`; of things by their keys the number."""
    if isinstance(value, dict):
        return str(len(value))
    if isinstance(value, list):
        lines = []
        for p in value:
            if "value" not in p or p["value"] != p.get("default"):
                known = "value" in p or "default" in p
                given = f" = {p.get('value', p.get('default'))}" if known else " (required)"
                lines.append(f"{p['name']}{given}, {p['allowed']}")
        return "\n".join(lines)
    return str(value)

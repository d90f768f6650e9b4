"""What a paper's YAML file may say: grids of runs, the tables and figures drawn from them."""

from collections.abc import Collection, Container, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import Field, model_validator

from fedbench.base.checks import Name, Strict
from fedbench.base.errors import FedbenchError, require_among
from fedbench.base.plugins import load_named
from fedbench.paper.axis_levels import Settings
from fedbench.paper.claims import Claim, Together
from fedbench.paper.name_checks import check_references
from fedbench.paper.tables_and_figures import Facts, Figure, Grid, Table
from fedbench.paper.yaml_notation import Level
from fedbench.spec import Choice, RunSpec

TAKEN = dict.fromkeys(("index", "run"), "index.html and run.html exist")
ItemT = TypeVar("ItemT", Table, Figure)


class InShort(Strict):
    """The findings about a paper, in the order in which they are told; each at most two sentences.

    A reader of one of them alone is not misled: what is ours (a reading, a grid, a horizon, the
    number of seeds) stands in the same sentence.
    """

    agrees: str
    """What agrees with the paper."""
    differs: str = ""
    """What does not."""
    why: str = ""
    """Why, as far as runs tell."""


class Paper(Strict):
    """What a paper did: the runs that it trained, and what it shows and says of them."""

    title: str
    """The paper's title."""
    authors: str
    """The paper's authors, separated by commas."""
    bibtex: str = ""
    """How to cite the paper: its entry for BibTeX."""
    prints: bool = True
    """false for a study of one's own, which prints no numbers that the measured ones could stand
    beside."""
    settings: Settings = Field(default_factory=dict)
    """Settings that all runs of the paper share: fields of a run (`RunSpec`)."""
    always: tuple[Choice, ...] = ()
    """Parts that stand before those of every method."""
    levels: dict[str, dict[Level, Settings]] = Field(default_factory=dict)
    """What the levels of an axis stand for, by axis: {level: settings}, or {each: settings}, where
    '$' stands for the level itself. A setting may be a part's parameter (`asd.tau: $`), whichever
    axis names the parts. A level of `method` that is not listed is one of fedbench's named methods
    (`fedbench list methods`). An axis that is not listed is a field of a run."""
    axes: dict[str, str] = Field(default_factory=dict)
    """What an axis is, in words, where its name does not say it: {s: classes per client}."""
    grids: dict[Name, Grid]
    """The runs to train, as grids by name."""
    tables: dict[Name, Table] = Field(default_factory=dict)
    """The paper's tables, and tables of ours, by name."""
    figures: dict[Name, Figure] = Field(default_factory=dict)
    """The paper's figures, and figures of ours, by name."""
    front: str = ""
    """The name of a table, in the order `best first`, of which the report's first page shows the
    first rows."""
    facts: dict[Name, Facts] = Field(default_factory=dict)
    """Tables that need no run, by name."""
    claims: dict[Name, Claim] = Field(default_factory=dict)
    """The paper's claims, by name, as comparisons that code judges."""
    headline: str = ""
    """The name of the claim, or of a study's figure, with which the page opens; by default the
    first claim that is the paper's."""
    deviations: tuple[str, ...] = ()
    """Where the runs differ from the paper's, and what was chosen where the paper is silent."""
    in_short: InShort | str = ""
    """The findings in short, which the report's first page prints too; of a study of one's own, as
    a text."""
    paper_grids: tuple[str, ...] = ()
    """The searched settings whose values are the paper's own: [lr, fedprox.mu]. A choice at an edge
    of such a grid is marked as one at an edge of the paper's grid, any other as one of ours."""
    redraws: str = ""
    """What a seed redraws in the paper, in its words: 'five different initialisations'. The page
    says beside it what a seed redraws in the runs."""
    findings: dict[str, str] = Field(default_factory=dict)
    """What the runs at the paper's own settings have shown, by a short statement of it: the
    numbers, where they differ from the paper by more than the seeds explain, and the reason that a
    run supports best."""

    def items(self) -> list[tuple[str, Table | Figure]]:
        """Tables, then figures, by key."""
        return [*self.tables.items(), *self.figures.items()]

    def everything(self) -> list[tuple[str, Table | Figure | Facts]]:
        """Tables, figures and tables of facts, by key."""
        return [*self.items(), *self.facts.items()]

    @model_validator(mode="after")
    def _known_names(self) -> "Paper":
        check_references(self)
        return self


def load_papers(
    workflow: Path, names: tuple[str, ...] = ()
) -> tuple[dict[str, Paper], dict[str, str], dict[str, Path]]:
    """Papers by file name, plug-ins too, their texts, and the files of all that there are.

    Raises `FedbenchError` on none, or two of one name.
    """
    folder = workflow / "papers"
    found = load_named(folder, "paper", Paper, names, TAKEN)
    if not any(file.parent == folder for file in found[2].values()):
        raise FedbenchError(f"{folder}: there is no paper; name a folder that has any")
    return found


def selected(papers: Mapping[str, Paper], tables: Collection[str]) -> dict[str, Paper]:
    """The papers with only these tables and figures; with all if none is named."""
    keys = [f"{name}/{key}" for name, paper in papers.items() for key, _ in paper.everything()]
    named = {*keys, *(key.partition("/")[2] for key in keys)}
    for table in tables:
        require_among("tables", f"table or figure of {', '.join(papers)}", table, named)
    return {name: only(name, paper, tables or None) for name, paper in papers.items()}


def only(name: str, paper: Paper, tables: Collection[str] | None) -> Paper:
    """The paper with only the tables and figures named ('table1' or 'rmfl/table1')."""
    if tables is None:
        return paper
    wanted = {table.removeprefix(f"{name}/") for table in tables}
    grids = {item.grid for key, item in paper.items() if key in wanted}
    return part_of(paper, wanted, [key for key in paper.grids if key in grids])


def part_of(paper: Paper, keys: Container[str], grids: Iterable[str]) -> Paper:
    """The paper with only these tables, figures and facts, these grids, and the claims on both."""
    items = {
        field: {key: each for key, each in getattr(paper, field).items() if key in keys}
        for field in ("tables", "figures", "facts")
    }
    kept = {key: paper.grids[key] for key in grids}
    single = {k: claim for k, claim in paper.claims.items() if not isinstance(claim, Together)}
    about = {k for k, x in single.items() if x.table in items["tables"] or x.grid in kept}
    parts = {k: x.claims if isinstance(x, Together) else (k,) for k, x in paper.claims.items()}
    claims = {k: claim for k, claim in paper.claims.items() if about.issuperset(parts[k])}
    return paper.model_copy(update=items | {"grids": kept, "claims": claims})


def with_rounds(paper: Paper, known: Mapping[str, Collection[int]] | None = None) -> Paper:
    """The paper with rounds for `{rounds}` in its texts: an item's `known` ones, or its grid's."""
    of_all = paper.settings.get("rounds", RunSpec.model_fields["rounds"].default)
    own = {key: [grid.settings.get("rounds", of_all)] for key, grid in paper.grids.items()}

    def told(key: str, item: ItemT) -> ItemT:
        found = sorted(set((known or {}).get(key, ())) or set(own.get(item.grid, ())))
        words = f"{found[0]} to {found[-1]}" if len(found) > 1 else "".join(map(str, found))
        texts = {"title": item.title, "caption": item.caption}
        return item.model_copy(update={k: v.replace("{rounds}", words) for k, v in texts.items()})

    tables = {key: told(key, table) for key, table in paper.tables.items()}
    figures = {key: told(key, figure) for key, figure in paper.figures.items()}
    return paper.model_copy(update={"tables": tables, "figures": figures})

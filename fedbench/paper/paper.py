"""What a paper's YAML file may say: grids of runs, the tables and figures drawn from them."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import Field, model_validator

from fedbench.base.checks import Name, Strict, require_name
from fedbench.base.errors import FedbenchError, unknown
from fedbench.base.files import matching
from fedbench.base.plugins import files_by_name, searched
from fedbench.base.yamlfile import load
from fedbench.paper.axis_levels import Settings
from fedbench.paper.claims import Claim
from fedbench.paper.name_checks import check_references
from fedbench.paper.tables_and_figures import Facts, Figure, Grid, Table
from fedbench.paper.yaml_notation import Level
from fedbench.spec import Choice, RunSpec

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


def load_papers(workflow: Path, names: tuple[str, ...] = ()) -> dict[str, Paper]:
    """Papers by file name, plug-ins too; raises `FedbenchError` on none, or two of one name."""
    if not matching(workflow / "papers", "*.yaml"):
        raise FedbenchError(f"{workflow / 'papers'}: there is no paper; name a folder that has any")
    files = files_by_name(workflow / "papers", "*.yaml")
    for name in names:
        if name not in files:
            raise FedbenchError(f"{unknown('paper', name, files)} ({searched('papers')})")
    chosen = {name: file for name, file in files.items() if not names or name in names}
    for name, file in chosen.items():  # it must do for paths and links
        require_paper_name("the file's name", name, file)
    return {name: load(file, Paper) for name, file in chosen.items()}


def with_rounds(paper: Paper, known: Mapping[str, Collection[int]] | None = None) -> Paper:
    """The paper with rounds for `{rounds}` in what it prints: a grid's `known` ones, or its own."""
    of_all = paper.settings.get("rounds", RunSpec.model_fields["rounds"].default)
    own = {key: [grid.settings.get("rounds", of_all)] for key, grid in paper.grids.items()}
    rounds = own | dict(known or {})

    def told(item: ItemT) -> ItemT:
        found = sorted({*rounds.get(item.grid, ())})
        words = f"{found[0]} to {found[-1]}" if len(found) > 1 else "".join(map(str, found))
        texts = {"title": item.title, "caption": item.caption}
        return item.model_copy(update={k: v.replace("{rounds}", words) for k, v in texts.items()})

    tables = {key: told(table) for key, table in paper.tables.items()}
    figures = {key: told(figure) for key, figure in paper.figures.items()}
    return paper.model_copy(update={"tables": tables, "figures": figures})


def require_paper_name(what: str, name: str, place: object) -> None:
    """Raise `FedbenchError`, with `place` and `what` in it, unless a paper may have this name."""
    require_name(what, name, place)
    if name in ("index", "run"):
        raise FedbenchError(
            f"{place}: {what} = '{name}' is not allowed: index.html and run.html exist"
        )

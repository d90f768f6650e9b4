"""Checks the figures and facts of a plan before any training, by making what needs no run."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fedbench.base import registry
from fedbench.base.errors import FedbenchError
from fedbench.base.plugins import find_file
from fedbench.plan.plan import Plan
from fedbench.plan.printed import printed_file, read_printed
from fedbench.report.tables.fact import fact_table


def check_figures_and_facts(plan: Plan, papers: Path) -> None:
    """Raise `FedbenchError` on a bad option of a figure, or a table of facts that cannot be made.

    `papers` is the folder of the papers' files and printed numbers. Imports torch for some facts.
    """
    for name, paper in plan.papers.items():
        printed = read_printed(printed_file(papers, name))
        for key, figure in paper.figures.items():
            with _at(f"{find_file(papers, f'{name}.yaml')}: figures.{key}"):
                registry.build("figure", figure.kind.name, figure.kind.params)
        for key in paper.facts:
            with _at(f"{find_file(papers, f'{name}.yaml')}: facts.{key}"):
                fact_table(key, paper, printed)


@contextmanager
def _at(place: str) -> Iterator[None]:
    try:
        yield
    except FedbenchError as error:
        raise FedbenchError(f"{place}: {error}") from None

"""Builds figures' options and facts without runs, so that a bad one is refused before training."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fedbench.base import registry
from fedbench.base.errors import FedbenchError
from fedbench.base.plugins import find_file
from fedbench.plan.plan import Plan
from fedbench.plan.printed import printed_file, read_printed
from fedbench.report.tables.fact import sheet_of


def check_shown(plan: Plan, papers: Path) -> None:
    """Raise `FedbenchError` on an option of a figure out of range, or a fact that cannot be told.

    `papers` is the folder of the papers' files and printed numbers.
    """
    for name, paper in plan.papers.items():
        printed = read_printed(printed_file(papers, name))
        for key, figure in paper.figures.items():
            with _at(f"{find_file(papers, f'{name}.yaml')}: figures.{key}"):
                registry.build("figure", figure.kind.name, figure.kind.params)
        for key in paper.facts:
            with _at(f"{find_file(papers, f'{name}.yaml')}: facts.{key}"):
                sheet_of(key, paper, printed)


@contextmanager
def _at(place: str) -> Iterator[None]:
    try:
        yield
    except FedbenchError as error:
        raise FedbenchError(f"{place}: {error}") from None

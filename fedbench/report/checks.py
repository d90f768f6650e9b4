"""Checks what a report will show before any training, by making what needs no run."""

from pathlib import Path

from fedbench.base import registry
from fedbench.base.errors import at
from fedbench.base.plugins import find_file
from fedbench.paper.claims import Together
from fedbench.plan.plan import Plan
from fedbench.plan.printed import printed_file, read_printed
from fedbench.report.claims.expand import expand
from fedbench.report.tables.fact import fact_table


def check_report(plan: Plan, papers: Path) -> None:
    """Raise `FedbenchError` on what no report could show.

    That is a bad option of a figure, a table of facts that cannot be made, and a claim that
    compares nothing. `papers` is the folder of the papers' files and printed numbers. Imports torch
    for some facts.
    """
    for name, paper in plan.papers.items():
        printed = read_printed(printed_file(papers, name))
        for key, claim in plan.asked[name].claims.items():
            with at(str(find_file(papers, f"{name}.yaml"))):
                if not isinstance(claim, Together):
                    expand(f"claims.{key}", claim, plan.asked[name])
        for key, figure in paper.figures.items():
            with at(f"{find_file(papers, f'{name}.yaml')}: figures.{key}"):
                registry.build("figure", figure.kind.name, figure.kind.params)
        for key in paper.facts:
            with at(f"{find_file(papers, f'{name}.yaml')}: facts.{key}"):
                fact_table(key, paper, printed)

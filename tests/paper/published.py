"""The papers in workflow/ and their plans, read and made once in a process: that takes seconds."""

from functools import cache

from fedbench.paper.paper import Paper, load_papers
from fedbench.plan.plan import Cell, Plan, make_plan
from tests.project import ROOT

WORKFLOW = ROOT / "workflow"


@cache
def papers() -> dict[str, Paper]:
    """All papers by name."""
    return load_papers(WORKFLOW)[0]


def plan(scale: str = "paper") -> Plan:
    """All papers at a scale; at the scale `paper` they are as printed."""
    return _plan(scale)


@cache
def _plan(scale: str) -> Plan:
    return make_plan(WORKFLOW, scale)


@cache
def cells(paper: str) -> list[Cell]:
    """The cells of a paper as printed."""
    return [cell for cell in plan().cells if cell.paper == paper]

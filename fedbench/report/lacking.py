"""How many runs a report lacks, for whoever has it made without any."""

from pathlib import Path

from fedbench.plan.plan import Plan
from fedbench.report.values import frames
from fedbench.store import Results


def lacking(plan: Plan, results: Path) -> str:
    """'4 of 6 runs are missing'; empty if the collected frames have all runs of the plan."""
    asked = {cell.run_id for cell in plan.cells}
    files = (Results(results).frame(plan.scale, paper) for paper in plan.papers)
    gone = asked.difference(*(frames.states(frames.read(file)) for file in files))
    return f"{len(gone):,} of {len(asked):,} runs are missing" if gone else ""

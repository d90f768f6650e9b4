"""Prints what training a plan costs: passes, hours and bytes by table."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fedbench.cli.app import console
from fedbench.cli.rows import print_rows

if TYPE_CHECKING:  # commands must not wait for what this needs
    from fedbench.plan.plan import Plan


def print_costs(
    chosen: "Plan",
    workflow: Path,
    results: Path,
    data_dir: Path | None,
    parts: Sequence[tuple[str, "Plan"]] = (),
) -> None:
    """Print what training each table of a plan costs, then what parts of it cost, by name."""
    from fedbench.base.processes import cores
    from fedbench.data.source import data_folder
    from fedbench.paper.scale import load_scale
    from fedbench.plan.cost import GPU_CORES, by_table, measured_speeds

    speeds = measured_speeds(results, load_scale(workflow, chosen.scale).speeds)
    costs = by_table(chosen, speeds, data_folder(data_dir), parts=parts)
    print_rows([{"what": name} | cost.words() for name, cost in costs.items()])
    console.print(
        f"Hours follow from how fast finished runs in {results} trained the same model. Without "
        "such runs they follow from the speed of one core that the scale's file or else the model "
        f"declares, and a GPU is assumed to be as fast as {GPU_CORES} cores. Hours here are those "
        f"of training alone until the last run ends, on all {cores()} cores of this "
        "machine, where one core trains each run. GPU hours are those of one GPU.",
        soft_wrap=True,
    )

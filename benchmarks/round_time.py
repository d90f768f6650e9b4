"""How long does a round of each method of a paper take? Measured in turns, with nothing beside.

    python benchmarks/round_time.py --paper feddpc --grid table2_seeds --where alpha=0.6

The runs of a scale are made beside other work and on several machines, so that their seconds cannot
be compared. This trains the first run of each method of a grid at the scale `cpu` for some rounds,
all methods in turn and this several times over, in one process and with one thread. A turn gives
the median over its rounds, without the first, of the time for local training and the server.
Printed is the median over the turns, with the lowest and the highest; all are written as JSON.
"""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

from fedbench import Machine, RunSpec, run
from fedbench.base.files import write_text
from fedbench.base.yamlfile import parse
from fedbench.engine.record import processor, versions
from fedbench.plan.plan import Cell, make_plan


def first_runs(cells: Iterable[Cell]) -> dict[str, RunSpec]:
    """By method, the first of its runs."""
    runs: dict[str, RunSpec] = {}
    for cell in cells:
        runs.setdefault(str(cell.coords["method"]), cell.run)
    return runs


def seconds(spec: RunSpec, rounds: int, data_dir: Path | None) -> float:
    """The median seconds of a round, without the first, which also warms up."""
    short = spec.changed(rounds=rounds + 1, eval_every=1, tune=None, watch=())
    history = run(short, machine=Machine("cpu", 1), data_dir=data_dir).history[1:]
    return float((history["train_seconds"] + history["server_seconds"]).median())


def main() -> None:
    """Measure, print a line per method, and write all turns."""
    args = _arguments()
    plan = make_plan(args.workflow, args.scale, (args.paper,))
    runs = first_runs(plan.select(args.paper, args.grid, args.where))
    turns: dict[str, list[float]] = {method: [] for method in runs}
    for _ in range(args.turns):
        for method, spec in runs.items():
            turns[method].append(seconds(spec, args.rounds, args.data_dir))
    for method, each in turns.items():
        print(f"{method}: {median(each):.3f} s ({min(each):.3f} to {max(each):.3f})")
    write_text(args.out, json.dumps({**_about(args), "turns": turns}, indent=2) + "\n")


def _about(args: argparse.Namespace) -> dict[str, Any]:
    what = {"paper": args.paper, "grid": args.grid, "where": args.where, "rounds": args.rounds}
    return {**what, "processor": processor(), "versions": versions()}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--paper", required=True)
    parser.add_argument("--grid", required=True)
    parser.add_argument("--where", type=lambda text: parse([text]), default={}, help="axis=level")
    parser.add_argument("--scale", default="cpu")
    parser.add_argument("--rounds", type=int, default=20, help="in each turn")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--data-dir", type=Path, default=None)
    parser.add_argument("--workflow", type=Path, default=Path("workflow"))
    results = Path(__file__).parent / "results"
    parser.add_argument("--out", type=Path, default=results / "round_time.json")
    return parser.parse_args()


if __name__ == "__main__":
    main()

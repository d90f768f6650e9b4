"""Which learning rate suits the models of a scale? Trains one run of each at several rates.

    python benchmarks/rates.py --scale demo [--papers rmfl] [--factors 0.3,1,3]

For each paper, data set and model of the scale, a run of FedAvg, or of the first method where there
is no FedAvg, is trained in the setting whose clients differ least: at the rate of the scale's file
and at this rate times the other factors. The seed is none that the scale's tables show. One line
per run says how accurate it was on held-out training data, by which the best is marked.
"""

import argparse
from pathlib import Path

from rich.console import Console
from rich.table import Table

from fedbench import Machine, RunSpec, run
from fedbench.base.yamlfile import split
from fedbench.plan.outlook import planned
from fedbench.plan.plan import Cell

SEED, HELD_OUT = 1_000, 0.2


def candidates(cells: list[Cell]) -> dict[tuple[str, str, str], RunSpec]:
    """By paper, data set and model: the run whose rate is looked for."""
    chosen: dict[tuple[str, str, str], RunSpec] = {}
    for cell in sorted(cells, key=_preference):
        chosen.setdefault((cell.paper, str(cell.run.dataset), str(cell.run.model)), cell.run)
    return chosen


def _preference(cell: Cell) -> tuple[bool, float]:
    """FedAvg before others, and little skew before much."""
    params = cell.run.partition.params
    mild = params.get("alpha", params.get("delta", params.get("s", 100.0)))
    return bool([p for p in cell.run.parts if not p.name.startswith("meanof")]), -float(mild)


def accuracy(spec: RunSpec, rate: float) -> float:
    """The mean held-out accuracy over the rounds, as a share of 1; 0 if the run diverged."""
    settings = {"lr": rate, "seed": SEED, "validation": HELD_OUT, "watch": (), "tune": None}
    result = run(spec.changed(**settings), machine=Machine("cpu", 1))
    return 0.0 if result.status == "diverged" else float(result.history["val_accuracy"].mean())


def main() -> None:
    """Print one line per paper, data set and model."""
    args = _arguments()
    plan = planned(args.workflow, args.scale, split(args.papers))
    factors = [float(factor) for factor in split(args.factors)]
    table = Table("paper", "data set", "model", *(f"× {factor:g}" for factor in factors))
    for (paper, dataset, model), spec in candidates(plan.cells).items():
        scores = [accuracy(spec, spec.lr * factor) for factor in factors]
        cells = [f"{spec.lr * f:.3g}: {s:.3f}" for f, s in zip(factors, scores, strict=True)]
        best = scores.index(max(scores))
        cells[best] += " *"
        table.add_row(paper, dataset.partition("(")[0], model.partition("(")[0], *cells)
    Console(width=160).print(table)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", default="demo")
    parser.add_argument("--papers", default="")
    parser.add_argument("--factors", default="0.3,1,3", help="of the rates in the scale's file")
    parser.add_argument("--workflow", type=Path, default=Path("workflow"))
    return parser.parse_args()


if __name__ == "__main__":
    main()

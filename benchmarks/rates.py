"""Which learning rate suits the models of a scale? Trains a few runs of each at several rates.

    python benchmarks/rates.py --scale demo [--papers rmfl] [--factors 0.3,1,3]

For each paper, data set and model of the scale, FedAvg and the method of which the paper has most
runs are trained where clients differ least and where they differ most: at the rate of the scale's
file and at this rate times the other factors. A rate that suits even clients may ruin skewed ones,
and one that suits FedAvg may be too large with momentum. The seed is none that the scale's tables
show. One line per model says how accurate its runs were on held-out training data, on average over
their rounds, and marks the best rate.
"""

import argparse
import sys
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Table

from fedbench import Machine, RunSpec, run
from fedbench.base.errors import FedbenchError
from fedbench.base.yamlfile import split
from fedbench.plan.plan import Cell, make_plan

SEED, HELD_OUT = 1_000, 0.2
FEDAVG = "[]"  # no part beside the choice of the model that is scored


def candidates(cells: list[Cell]) -> dict[tuple[str, str, str], list[RunSpec]]:
    """By paper, data set and model: the runs whose rate is looked for, at most four."""
    groups: dict[tuple[str, str, str], list[RunSpec]] = {}
    for cell in cells:
        key = (cell.paper, str(cell.run.dataset), str(cell.run.model))
        groups.setdefault(key, []).append(cell.run)
    return {key: _extremes(runs) for key, runs in groups.items()}


def _extremes(runs: list[RunSpec]) -> list[RunSpec]:
    """FedAvg and the method with most runs, each with the least and the most skew that it has."""
    by_method: dict[str, list[RunSpec]] = {}
    for spec in runs:
        by_method.setdefault(_method(spec), []).append(spec)
    usual = max(by_method, key=lambda name: len(by_method[name]))
    chosen = [by_method[name] for name in dict.fromkeys((FEDAVG, usual)) if name in by_method]
    ends = [end(specs, key=_evenness) for specs in chosen for end in (max, min)]
    return list({spec.id: spec for spec in ends}.values())


def _method(spec: RunSpec) -> str:
    return str([part for part in spec.parts if not part.name.startswith("meanof")])


def _evenness(spec: RunSpec) -> float:
    """Larger where the partition makes clients more alike."""
    params = spec.partition.params
    return float(params.get("alpha", params.get("delta", params.get("s", 100.0))))


def accuracy(spec: RunSpec, rate: float) -> float:
    """The mean held-out accuracy over the rounds, as a share of 1; 0 if the run diverged."""
    settings = {"lr": rate, "seed": SEED, "validation": HELD_OUT, "watch": (), "tune": None}
    result = run(spec.changed(**settings), machine=Machine("cpu", 1))
    return 0.0 if result.status == "diverged" else float(result.history["val_accuracy"].mean())


def main() -> None:
    """Print one line per paper, data set and model."""
    args = _arguments()
    plan = make_plan(args.workflow, args.scale, split(args.papers))
    factors = [float(factor) for factor in split(args.factors)]
    table = Table("paper", "data set", "model", *(f"× {factor:g}" for factor in factors))
    for (paper, dataset, model), specs in candidates(plan.cells).items():
        scores = [fmean(accuracy(spec, spec.lr * f) for spec in specs) for f in factors]
        cells = [f"{specs[0].lr * f:.3g}: {s:.3f}" for f, s in zip(factors, scores, strict=True)]
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
    try:
        main()
    except FedbenchError as error:
        sys.exit(f"error: {error}")

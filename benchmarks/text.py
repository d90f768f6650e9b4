"""Does federated training learn from text? Trains a small DistilBERT with random weights.

    python benchmarks/text.py --data-dir DIR [--sets sst5,agnews] [--processes 1]

Ten rounds of FedAvg with Adam, as in the experiments of the FedGKD paper: SST-5 with 10 clients, C
= 0.4, E = 3; AG News with 20 clients, C = 0.2, E = 1; B = 64. Two things differ, because the
weights are random and not pretrained: the model is small (2 layers, 64 wide, 48 tokens, a word-
level tokenizer), and the learning rate is 1e-3 or 2e-3 where the paper fine-tunes with 1e-5. A
tenth of the training data is held out; the rate with the best held-out accuracy is shown with its
test accuracy, beside the share of the test set's largest class. Finished runs are not trained
again.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from fedbench import Machine, RunSpec
from fedbench.base.yamlfile import split
from fedbench.store import RunFolder

RATES = (2e-3, 1e-3)
SIZES = {"layers": 2, "heads": 4, "dim": 64, "hidden": 128, "positions": 48, "weights": "random"}
TEXTS = {"length": 48, "vocabulary": 8_000, "tokenizer": "words"}
SETTING = {
    "model": {"distilbert": SIZES},
    "rounds": 10,
    "batch": 64,
    "optimizer": "adam",
    "validation": 0.1,
}
SETS = {
    "sst5": {"clients": 10, "participation": 0.4, "epochs": 3},
    "agnews": {"clients": 20, "participation": 0.2, "epochs": 1},
}


def trials(name: str, alpha: float, seed: int) -> list[RunSpec]:
    """A data set's runs, one per learning rate."""
    chosen = {"dataset": {name: TEXTS}, "partition": {"dl": {"alpha": alpha}}, "seed": seed}
    return [RunSpec(**SETTING | SETS[name] | chosen | {"lr": rate}) for rate in RATES]


def train_one(spec: RunSpec, out: Path, data_dir: Path | None) -> None:
    """Train one run in this process, unless it is finished."""
    from fedbench.engine.machine import one_thread_a_process
    from fedbench.jobs.train import train

    one_thread_a_process()
    train({spec.id: spec}, [spec.id], out, Machine(device="cpu"), data_dir)


def chance(spec: RunSpec, data_dir: Path | None) -> float:
    """The share of the test set's largest class."""
    from fedbench.data.source import load_data

    labels = load_data(spec.dataset.name, spec.dataset.params, data_dir).y_test
    return float(np.bincount(labels).max() / len(labels))


def row(name: str, specs: list[RunSpec], out: Path, data_dir: Path | None) -> str:
    """A line of the table: the best rate by held-out accuracy, and what it reached."""
    runs = {spec.lr: RunFolder(out / "runs" / spec.id).history() for spec in specs}
    held_out = {rate: run["val_accuracy"].iloc[-1] for rate, run in runs.items()}
    best = max(held_out, key=lambda rate: held_out[rate])
    tried = ", ".join(f"{rate}: {100 * score:.1f}" for rate, score in held_out.items())
    reached = runs[best]["accuracy"]
    numbers = (chance(specs[0], data_dir), reached.iloc[-1], reached.max())
    cells = " | ".join(f"{100 * number:.2f}" for number in numbers)
    return f"| {name} | {best} | {cells} | {tried} |"


def main() -> None:
    """Train what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--sets", default="", help="names separated by commas; all by default")
    parser.add_argument("--alpha", type=float, default=1.0, help="concentration of the partition")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("results/text"))
    parser.add_argument("--processes", type=int, default=1)
    args = parser.parse_args()
    plan = {name: trials(name, args.alpha, args.seed) for name in split(args.sets) or tuple(SETS)}
    with ProcessPoolExecutor(args.processes, max_tasks_per_child=1) as pool:
        job = partial(train_one, out=args.out, data_dir=args.data_dir)
        list(pool.map(job, (spec for specs in plan.values() for spec in specs)))
    print("| data | lr | largest class, % | last round, % | best by test, % | held-out by lr, % |")
    print("|---|---|---|---|---|---|")
    for name, specs in plan.items():
        print(row(name, specs, args.out, args.data_dir))


if __name__ == "__main__":
    main()

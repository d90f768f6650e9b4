"""Does every method learn? Trains each on real data, with a learning rate from held-out data.

    python benchmarks/learning.py --data-dir DIR [--methods FedAvg,FedDyn] [--processes 2]

CIFAR-10, LeNet-5, DP(0.3), 100 clients, C = 0.1, E = 1, B = 50, clip 10, a tenth of the training
data held out. Every learning rate is tried on the other nine tenths, for all rounds or for those of
`--choose-after`. The one with the best held-out accuracy is then trained to the end and shown with
its test accuracy. Finished runs are not trained again; a longer run serves for a shorter one.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from fedbench import Machine, RunSpec
from fedbench.base.errors import FedbenchError
from fedbench.base.yamlfile import split
from fedbench.spec.compositions import compositions
from fedbench.store import RunFolder
from fedbench.store.run_states import state

RATES = (0.1, 0.03, 0.01)
SETTING = {
    "partition": {"dp": {"delta": 0.3}},
    "clients": 100,
    "participation": 0.1,
    "epochs": 1,
    "batch": 50,
    "clip": 10.0,
    "validation": 0.1,
}


def trials(name: str, args: argparse.Namespace) -> list[RunSpec]:
    """The full runs of a method, one per learning rate."""
    chosen = {"dataset": args.dataset, "model": args.model, "rounds": args.rounds}
    chosen["eval_every"] = min(10, args.choose_after)
    method = compositions()[name].run_settings()
    return [RunSpec(**SETTING | chosen | method | {"lr": rate}) for rate in RATES]


def train(specs: list[RunSpec], args: argparse.Namespace) -> None:
    """Train all runs that are not finished, equal ones once."""
    distinct = {spec.id: spec for spec in specs}
    with ProcessPoolExecutor(args.processes, max_tasks_per_child=1) as pool:
        job = partial(train_one, out=args.out, data_dir=args.data_dir)
        list(pool.map(job, distinct.values()))
    for run_id in distinct:
        folder = RunFolder(args.out / "runs" / run_id)
        if folder.record() is None:
            raise FedbenchError(f"{run_id} has failed: {state(folder).why}")


def train_one(spec: RunSpec, out: Path, data_dir: Path | None) -> None:
    """Train one run in this process, unless it is finished."""
    from fedbench.engine.machine import one_thread_a_process
    from fedbench.jobs.train import train

    one_thread_a_process()
    train({spec.id: spec}, [spec.id], out, Machine(device="cpu"), data_dir)


def short(spec: RunSpec, args: argparse.Namespace) -> RunSpec:
    """The run by which a rate is judged: the full one if it is finished, else a shorter one."""
    whole = RunFolder(args.out / "runs" / spec.id).record() is not None
    return spec if whole else spec.changed(rounds=args.choose_after)


def held_out(spec: RunSpec, args: argparse.Namespace) -> float:
    """Accuracy on the held-out data after the rounds by which a rate is chosen."""
    history = RunFolder(args.out / "runs" / short(spec, args).id).history()
    return float(history[history["round"] <= args.choose_after].iloc[-1]["val_accuracy"])


def row(name: str, best: RunSpec, scores: dict[float, float], out: Path) -> str:
    """A line of the table: the rate with the best held-out accuracy, and its test accuracy."""
    reached = float(RunFolder(out / "runs" / best.id).history().iloc[-1]["accuracy"])
    tried = ", ".join(f"{rate}: {100 * score:.1f}" for rate, score in scores.items())
    return f"| {name} | {best.lr} | {100 * reached:.2f} | {tried} |"


def main() -> None:
    """Choose a rate for each method, train it to the end, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--methods", default="", help="names separated by commas; all by default")
    parser.add_argument("--out", type=Path, default=Path("results/learning"))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--dataset", default="cifar10")
    parser.add_argument("--model", default="lenet5")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--choose-after", type=int, help="rounds; to the end by default")
    args = parser.parse_args()
    args.choose_after = args.choose_after or args.rounds
    names = split(args.methods) or tuple(compositions())
    plan = {name: trials(name, args) for name in names}
    by_rate = [spec for specs in zip(*plan.values(), strict=True) for spec in specs]
    train([short(spec, args) for spec in by_rate], args)
    scores = {name: {s.lr: held_out(s, args) for s in specs} for name, specs in plan.items()}
    best = {
        name: max(specs, key=lambda spec: scores[name][spec.lr]) for name, specs in plan.items()
    }
    train(list(best.values()), args)
    after = f"held-out accuracy by lr after {args.choose_after} rounds, %"
    print(f"| method | lr | test accuracy after {args.rounds}, % | {after} |\n|---|---|---|---|")
    print("\n".join(row(name, best[name], scores[name], args.out) for name in plan))


if __name__ == "__main__":
    try:
        main()
    except FedbenchError as error:
        sys.exit(f"error: {error}")

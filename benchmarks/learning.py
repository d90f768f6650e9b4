"""Does every method learn? Each on real data, its learning rate chosen on held-out data.

    python benchmarks/learning.py --data-dir DIR [--methods FedAvg,FedDyn] [--processes 2]

CIFAR-10, LeNet-5, DP(0.3), 100 clients, C = 0.1, E = 1, B = 50, clip 10, a tenth of the training
data held out. Every rate is trained to the end on the other nine tenths; the rate with the best
held-out accuracy is shown with its test accuracy. Finished runs are kept and not trained again.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from fedbench import Machine, RunSpec
from fedbench.compositions import compositions
from fedbench.layout import split
from fedbench.schedule import Schedule
from fedbench.store import RunFolder

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
    """A method's runs, one a learning rate."""
    chosen = {"dataset": args.dataset, "model": args.model, "rounds": args.rounds}
    chosen["eval_every"] = min(10, args.rounds)
    method = compositions()[name].run_settings()
    return [RunSpec(**SETTING | chosen | method | {"lr": rate}) for rate in RATES]


def train_one(spec: RunSpec, out: Path, data_dir: Path | None) -> None:
    """Train one run in this process, unless it is finished."""
    from fedbench.machine import one_thread_a_process
    from fedbench.worker import train

    one_thread_a_process()
    schedule = Schedule(scale="learning", runs={spec.id: spec}, searches={}, papers={})
    train(schedule, [spec.id], out, Machine(device="cpu"), data_dir)


def row(name: str, specs: list[RunSpec], out: Path) -> str:
    """A line of the table: the best rate by held-out accuracy, and what it reached."""
    scores: dict[float, tuple[float, float]] = {}
    for spec in specs:
        folder = RunFolder(out / "runs" / spec.id)
        if folder.record() is not None:
            last = folder.history().iloc[-1]
            scores[spec.lr] = (float(last["val_accuracy"]), float(last["accuracy"]))
    if not scores:
        return f"| {name} | | | |"
    best = max(scores, key=lambda rate: scores[rate][0])
    tried = ", ".join(f"{rate}: {100 * held_out:.1f}" for rate, (held_out, _) in scores.items())
    return f"| {name} | {best} | {100 * scores[best][1]:.2f} | {tried} |"


def main() -> None:
    """Train what is missing, rate by rate, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--methods", default="", help="names separated by commas; all by default")
    parser.add_argument("--out", type=Path, default=Path("results/learning"))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--dataset", default="cifar10")
    parser.add_argument("--model", default="lenet5")
    parser.add_argument("--rounds", type=int, default=100)
    args = parser.parse_args()
    names = split(args.methods) or tuple(compositions())
    plan = {name: trials(name, args) for name in names}
    distinct = {spec.id: spec for specs in zip(*plan.values(), strict=True) for spec in specs}
    with ProcessPoolExecutor(args.processes, max_tasks_per_child=1) as pool:
        job = partial(train_one, out=args.out, data_dir=args.data_dir)
        list(pool.map(job, distinct.values()))
    print("| method | lr | test accuracy, % | held-out accuracy by lr, % |\n|---|---|---|---|")
    print("\n".join(row(name, specs, args.out) for name, specs in plan.items()))


if __name__ == "__main__":
    main()

"""How fast is the engine beside a hand-written PyTorch loop? LeNet-5, batch 50, SGD, one thread.

    python benchmarks/step.py [--repeats 7] [--rounds 3]

Both train 10 clients with 500 random 3×32×32 images each, from the same start, and must end with
the same weights. The times are medians of repeats that alternate between the two in one process.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from fedbench import Dataset, RunSpec
from fedbench.core.flat import Model
from fedbench.engine.batches import batches
from fedbench.engine.local import RoundStart
from fedbench.engine.machine import Machine, one_thread_a_process
from fedbench.engine.problem import Problem, assemble
from fedbench.engine.server import aggregate, open_round, views
from fedbench.engine.turns import prepare
from fedbench.engine.workers import Workers

CLIENTS, SAMPLES, BATCH, LR = 10, 500, 50, 0.1


def problem() -> Problem:
    """Ten clients of 500 random images."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (CLIENTS * SAMPLES, 32, 32, 3), dtype=np.uint8)
    y = rng.integers(0, 10, CLIENTS * SAMPLES)
    data = Dataset("random", x, y, x[:10], y[:10], 10)
    rows = [np.arange(i * SAMPLES, (i + 1) * SAMPLES) for i in range(CLIENTS)]
    spec = RunSpec(model="lenet5", clients=CLIENTS, batch=BATCH, lr=LR, epochs=1)
    return assemble(spec, {"data": data, "partition": rows}, Machine(device="cpu"), None)


def engine(p: Problem, rounds: int) -> torch.Tensor:
    """The final weights after rounds of the engine, without evaluation."""
    global_model = p.fed.start
    for t in range(rounds):
        r = open_round(p, global_model, t)
        clients = [prepare(p, r, i, [], []) for i in r.clients]
        replies = Workers(p.task, 1).train(RoundStart(Model(r.w, r.buffers), r.lr), clients)
        global_model = aggregate(p.task.parts, views(p, r, []), r, replies)
    return global_model.w


def bare(p: Problem, rounds: int) -> torch.Tensor:
    """The final weights after the same rounds with nn.Module and torch.optim, written by hand."""
    net = p.task.net.module()
    global_model = [q.detach().clone() for q in net.parameters()]
    x, y = p.task.x, p.task.y
    for t in range(rounds):
        total = [torch.zeros_like(q) for q in global_model]
        for i in range(CLIENTS):
            with torch.no_grad():
                for q, start in zip(net.parameters(), global_model, strict=True):
                    q.copy_(start)
            optimiser = torch.optim.SGD(net.parameters(), lr=LR)
            for rows in batches(0, t, i, p.rows[i], BATCH, 1, None):
                optimiser.zero_grad()
                loss = nn.functional.cross_entropy(net(x[rows].float() / 255), y[rows])
                loss.backward()
                optimiser.step()
            for sum_, q in zip(total, net.parameters(), strict=True):
                sum_ += q.detach()
        global_model = [sum_ / CLIENTS for sum_ in total]
    return nn.utils.parameters_to_vector(global_model)


def seconds(train: Callable[[Problem, int], torch.Tensor], p: Problem, rounds: int) -> float:
    """Wall-clock seconds of one call."""
    began = time.perf_counter()
    train(p, rounds)
    return time.perf_counter() - began


def main() -> None:
    """Print both medians and the median of the paired ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    one_thread_a_process()
    p = problem()
    difference = float((engine(p, 1) - bare(p, 1)).abs().max())
    assert difference < 1e-5, f"the two loops disagree by {difference}"
    pairs = [
        (seconds(engine, p, args.rounds), seconds(bare, p, args.rounds))
        for _ in range(args.repeats)
    ]
    ours, theirs = (statistics.median(column) / args.rounds for column in zip(*pairs, strict=True))
    ratio = statistics.median(a / b for a, b in pairs)
    print(f"engine {ours:.3f} s per round, bare loop {theirs:.3f} s per round, ratio {ratio:.3f}")


if __name__ == "__main__":
    main()

"""Measures how many samples a GPU trains per second, for one process and for several together.

    python benchmarks/gpu.py [--processes 1,4,12] [--seconds 6] [--device cuda] [--models lenet5]

Networks of the papers, 100 clients of which 10 train per round, FedAvg, batches of 50 images of
CIFAR-10's size filled with noise: what they show makes no difference to the time. Start
`nvidia-cuda-mps-control -d` first to let the processes use the GPU at the same time, not in turn.
"""

import argparse
import multiprocessing
import sys
import time
from multiprocessing.synchronize import Barrier
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from fedbench import Dataset, FedbenchError, Machine, RunSpec, Training
from fedbench.base.yamlfile import read_value, split
from fedbench.engine.assemble import assemble

MODELS = "lenet5,scnn,acnn,rn8"
ENDLESS = 10**6  # rounds: a run is stopped by the clock
SETTINGS: dict[str, Any] = {
    **{"dataset": "cifar10", "partition": "iid", "clients": 100, "participation": 0.1},
    **{"rounds": ENDLESS, "eval_every": ENDLESS, "batch": 50, "lr": 0.01},
}


def noise(train: int = 50_000, test: int = 100) -> Dataset:
    """Images that show nothing, of ten classes."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (train + test, 32, 32, 3), dtype=np.uint8)
    y = np.arange(train + test) % 10
    return Dataset("noise", x[:train], y[:train], x[train:], y[train:], classes=10)


def samples_per_second(model: str, device: str, seconds: float, start: Barrier) -> float:
    """What one process trains; all of them begin together, after a round that is not counted."""
    torch.set_num_threads(1)
    spec = RunSpec(**SETTINGS, model=read_value(model))
    machine = Machine(device=device, workers=1)
    training = Training(assemble(spec, {"data": noise()}, machine, None), machine)
    training.round()
    start.wait()
    began, passes = time.perf_counter(), training.progress.passes
    while time.perf_counter() < began + seconds:
        training.round()
    if training.problem.device.type == "cuda":
        torch.cuda.synchronize()
    return (training.progress.passes - passes) / (time.perf_counter() - began)


def together(model: str, processes: int, device: str, seconds: float) -> float:
    """What so many processes train per second, all in all."""
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, context.Pool(processes) as pool:
        start = manager.Barrier(processes)
        asked = [(model, device, seconds, start)] * processes
        return sum(pool.starmap(samples_per_second, asked, chunksize=1))


def main() -> None:
    """Read the command line, measure, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--processes", default="1,4,12", help="Numbers of processes to try.")
    parser.add_argument("--models", default=MODELS, help="Networks, separated by commas.")
    parser.add_argument("--seconds", type=float, default=6.0, help="How long each trains.")
    parser.add_argument("--device", default="cuda", help="Where: 'cuda', or 'cpu' to compare.")
    asked = parser.parse_args()
    counts = [int(n) for n in split(asked.processes)]
    try:
        Machine(device=asked.device).torch_device()
    except FedbenchError as error:
        sys.exit(str(error))
    name = torch.cuda.get_device_name() if asked.device.startswith("cuda") else asked.device
    table = Table("network", *(f"{n} processes" for n in counts), title=f"samples/s on {name}")
    for model in split(asked.models):
        found = [together(model, n, asked.device, asked.seconds) for n in counts]
        table.add_row(model, *(f"{each:,.0f}" for each in found))
    Console().print(table)


if __name__ == "__main__":
    main()

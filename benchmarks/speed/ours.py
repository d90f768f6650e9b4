"""fedbench's own runs of a workload, made with its public names only."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from fedbench import Dataset, Machine, RunSpec, Training
from fedbench.engine.assemble import assemble
from speed.workload import Workload

_NEVER = 1_000_000  # rounds: more than any measurement makes, so that no round is evaluated


def training(
    workload: Workload, workers: int | None = None, rounds: int = _NEVER, **settings: Any
) -> Training:
    """A run of the workload; `settings` are further ones of its spec, such as the method's parts.

    workers: clients that are trained side by side, None for fedbench's default. rounds: the run's
    rounds, after the last of which it is evaluated.
    """
    spec = RunSpec(**{**_settings(workload), "rounds": rounds, "eval_every": rounds, **settings})
    machine = Machine(device="cpu", workers=workers)
    objects: dict[str, Any] = {"data": dataset(workload), "partition": _partition(workload)}
    if not workload.model:
        with torch.random.fork_rng():
            torch.manual_seed(0)
            classifier = nn.Linear(math.prod(workload.shape), 10)
        objects["model"] = nn.Sequential(nn.Flatten(), classifier)
    return Training(assemble(spec, objects, machine, None), machine)


def dataset(workload: Workload) -> Dataset:
    """The workload's images as fedbench takes them; the test set is also the official held-out set.

    So methods that need held-out data leave the clients the same samples as the others.
    """
    x, y = (t.numpy() for t in workload.images())
    x_test, y_test = (t.numpy() for t in workload.test_images())
    x, x_test = x.transpose(0, 2, 3, 1), x_test.transpose(0, 2, 3, 1)  # views, nothing is copied
    held_out = {"x_held_out": x_test, "y_held_out": y_test}
    return Dataset("random images", x, y, x_test, y_test, classes=10, **held_out)


def architecture(workload: Workload) -> nn.Module:
    """The network in fedbench with the weights from which a run of the workload starts."""
    one_image = replace(workload, clients=1, samples=1, cohort=1)  # the weights follow the seed
    module: nn.Module = training(one_image).problem.task.net.module()
    return module


def _settings(workload: Workload) -> Mapping[str, Any]:
    return {
        **({"model": workload.model} if workload.model else {}),
        "clients": workload.clients,
        "participation": workload.cohort / workload.clients,
        "batch": workload.batch,
        "lr": workload.lr,
        "epochs": 1,
    }


def _partition(workload: Workload) -> list[NDArray[np.int64]]:
    rows = map(workload.rows, range(workload.clients))
    return [np.arange(each.start, each.stop) for each in rows]

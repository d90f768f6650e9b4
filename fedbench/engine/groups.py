"""Which clients of a cohort train side by side; it follows from the run and the kind of device."""

import sys
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor, nn

from fedbench.core.stacked import StackedNet
from fedbench.engine import scoring
from fedbench.engine.local import LocalTask

# Floating-point operations of one step's forward pass that keep a core, or a GPU, busy: several
# clients at once are no faster beyond that.
_ENOUGH_CPU, _ENOUGH_GPU = 4e8, 2e10
# Weights times samples up to which a step of a network without a convolution takes longer to call
# than to compute; beyond it, the weights of several clients leave the cache.
_TINY = 3.5e5
_MOST_IN_STEP = 16
# Weights times samples up to which threads wait for each other longer than they compute.
_SMALL = 2e7


def in_step(task: LocalTask, batch: int) -> bool:
    """Whether clients train in step (`lockstep`): of a tiny network, whose steps no part sees."""
    net, usual = task.net, (scoring.cross_entropy, scoring.half_squared_error)
    tiny = net.d * max(batch, 10) <= _TINY and not (net.channels or net.has_batch_norm)
    return tiny and task.is_plain and task.loss in usual and net.precision != torch.bfloat16


def in_processes(task: LocalTask, batch: int) -> bool:
    """Whether processes (`processes`) train the clients of a network in place of threads.

    Not where users' code acts, which may keep something from one call to the next.
    """
    net, here = task.net, sys.platform == "linux" and task.x.device.type == "cpu"
    small = net.d * max(batch, 10) <= _SMALL and not net.channels
    return here and small and not task.draws and not task.users.acts


def stacked_net(task: LocalTask, batch: int) -> StackedNet | None:
    """The network for several clients at once, or None where each client has to train alone.

    Dropout would draw other numbers, and some layers have no stacked form, or none for what they
    are given, such as a linear layer on images. Larger networks without a convolution gain nothing,
    and those with one are slower in double precision.
    """
    net = task.net
    gains = in_step(task, batch) or (net.channels and net.precision == torch.float32)
    if net.has_dropout or not gains:
        return None
    try:
        stacked = StackedNet(net)
        stacked.eval([net.start()] * 2, [task.prepare(task.x[:1])] * 2)
    except (TypeError, RuntimeError):  # the latter is PyTorch's on sizes that do not fit
        return None
    return stacked


def at_once(task: LocalTask, batch: int, cohort: int) -> int:
    """How many clients with batches of this size make up a step that keeps a core or GPU busy.

    Of a tiny network two workers share any cohort.
    """
    if in_step(task, batch):
        return min(_MOST_IN_STEP, -(-cohort // 2))
    enough = _ENOUGH_CPU if task.x.device.type == "cpu" else _ENOUGH_GPU
    return max(1, int(enough / (_operations(task) * batch)))


def grouped(steps: Sequence[int], largest: int) -> list[list[int]]:
    """Places in the cohort in groups of at most `largest`, those with most local steps first.

    A group's clients make similar numbers of steps, so that they end at about the same time. Sizes
    differ by one at most. If one group is not enough their number is even, so that two workers
    share them.
    """
    clients = len(steps)
    order = sorted(range(clients), key=lambda i: -steps[i])
    count = 1 if largest >= clients else min(clients, 2 * -(-clients // (2 * largest)))
    sizes = [clients // count + (n < clients % count) for n in range(count)]
    return [order[first:last] for first, last in pairwise(accumulate(sizes, initial=0))]


def _operations(task: LocalTask) -> int:
    """The floating-point operations of one sample's forward pass, at least 1.

    Only layers with products count. PyTorch's own counter finds the same number, but it imports
    PyTorch's compiler, which takes seconds.
    """
    counts: list[int] = []

    def count(layer: Any, _: object, outputs: Tensor) -> None:
        # an output is the sum of one product per weight of its filter or row
        counts.append(2 * outputs.numel() * layer.weight[0].numel())

    module = task.net.module().eval()
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            layer.register_forward_hook(count)
    with torch.no_grad():
        module(task.prepare(task.x[:1]))
    return max(1, sum(counts))

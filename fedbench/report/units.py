"""Computation units: one is a forward pass over a client's local data (ASD paper, Fig. 11)."""

from fedbench.base import registry
from fedbench.base.errors import FedbenchError
from fedbench.spec import RunSpec


def units_a_round(run: RunSpec) -> float:
    """E for FedAvg; E + 1 for ASD, whose teacher's outputs are kept over the epochs.

    From what the parts declare: E (1 + forward − teachers) + teachers. Raises `FedbenchError` where
    local work is counted in steps.
    """
    from fedbench.core.part import Sizes  # only here, as it loads torch

    epochs = run.local_epochs
    if epochs is None:
        raise FedbenchError(
            f"run {run.id}: steps = {run.steps}, but units are counted in epochs; use x: round"
        )
    size = Sizes(d=1, classes=1, K=run.clients, m=1, epochs=epochs)
    parts = [registry.build("method", part.name, part.params) for part in run.parts]
    costs = [part.cost(size) for part in parts]
    once = sum(cost.teachers for cost in costs)
    return float(epochs * (1 + sum(cost.forward for cost in costs) - once) + once)

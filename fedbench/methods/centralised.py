"""Centralised: all data in one place; the upper reference row of a comparison."""

from dataclasses import dataclass
from typing import Any, ClassVar

from fedbench.core.part import Part


@dataclass(frozen=True)
class Centralised(Part):
    """One client holds all training data: E epochs over them per round, as plain local training.

    The row "centralised" of many papers (such as McMahan et al., AISTATS 2017, Table 3). Clients,
    their share, partition, sampler, weights and work are fixed, whatever the run's other settings
    say, so that one run stands for all partitions. A round makes as many passes over all data as a
    FedAvg client makes over its own; the momentum of the local optimiser starts anew in each.
    Probes that score clients see that one.
    """

    SETTINGS: ClassVar[dict[str, Any]] = {
        "clients": 1,
        "participation": 1.0,
        "partition": "iid",
        "sampler": "uniform",
        "weights": "uniform",
        "work": "constant",
    }

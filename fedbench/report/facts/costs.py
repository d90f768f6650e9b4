"""What a round of each method computes beyond one vector."""

from dataclasses import dataclass

from fedbench.checked import Checked


@dataclass(frozen=True)
class Costs(Checked):
    """Vector operations by phase, as FedDPC's Table 1 counts them, from the parts' declared costs.

    `methods` are named methods.
    """

    methods: tuple[str, ...]

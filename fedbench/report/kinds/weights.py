"""How much each local gradient counts in the momentum, and how biased it is."""

from dataclasses import dataclass

from fedbench.checked import Checked, Decay


@dataclass(frozen=True)
class Weights(Checked):
    """Momentum weights over the local steps, and the probe `steps`' bias 1 − cosine.

    (1−β) β^(H−1−k) for step k of H in MFL, turned around in RMFL; `beta` is β (RMFL paper, Fig. 3).
    """

    beta: Decay = 0.9

"""Personalised accuracy after calibration of each client's classifier."""

from dataclasses import dataclass
from typing import Literal

from fedbench.checked import Fraction, Natural, NonNegative, Positive
from fedbench.probe import Probe


@dataclass(frozen=True)
class Calibration(Probe):
    """Personalised accuracy of the final model by classifier calibration."""

    epochs: Natural = 2
    lr: Positive | None = None  # the run's first if null; grid 0.1, 0.05, 0.03, 0.01
    mu: NonNegative = 0.01  # of the proximal term; grid 0.1, 0.01, 0.001
    lam: Fraction = 0.35  # of the self-confidence distillation
    test_split: Literal["mirrored", "independent"] = "mirrored"

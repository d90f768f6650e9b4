"""The curvature of the loss around the trained model."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

from fedbench.checked import Count, Positive
from fedbench.probe import Probe

Pair = Annotated[int, Ge(2)]


@dataclass(frozen=True)
class Spectrum(Probe):
    """Top eigenvalue, trace and spectral density of the Hessian of the base loss."""

    samples: Count = 2000  # training samples, at most
    probes: Count = 100  # Rademacher vectors of the trace
    steps: Pair = 100  # of Lanczos
    points: Pair = 1024  # of the density's grid
    iterations: Count = 100  # of the top eigenvalue, at most
    tol: Positive = 1e-3  # its relative accuracy

"""The density of a Hessian's eigenvalues."""

from dataclasses import dataclass

from fedbench.checked import Checked, Positive


@dataclass(frozen=True)
class Density(Checked):
    """The probe `spectrum`'s density on a logarithmic scale (ASD paper, Fig. 3).

    Densities below `floor` are cut off.
    """

    floor: Positive = 1e-5

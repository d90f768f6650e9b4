"""Decision regions in the plane."""

from dataclasses import dataclass

from fedbench.checked import Checked


@dataclass(frozen=True)
class Regions(Checked):
    """The probe `regions`: what each model predicts over the plane, and each user's points.

    One run a panel, a panel a model (FedGKD paper, Fig. 5).
    """

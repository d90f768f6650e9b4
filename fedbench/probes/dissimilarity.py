"""How far the clients' gradients disagree."""

from dataclasses import dataclass

from fedbench.checked import Count, NonNegative
from fedbench.probe import Probe


@dataclass(frozen=True)
class Dissimilarity(Probe):
    """Gradient dissimilarity G_d of the regularised client losses, after the last round."""

    lams: tuple[NonNegative, ...] = (0.0, 1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0)
    clients: Count = 2  # local models, beside the mean of all, at which G_d is measured

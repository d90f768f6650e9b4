"""What one local round does to each class."""

from dataclasses import dataclass

from fedbench.checked import Checked, Count


@dataclass(frozen=True)
class Changes(Checked):
    """The probe `changes`: accuracy after minus before by class, beside the client's class counts.

    The first `clients` of the last round that was watched, one run a hue (ASD paper, Fig. 1).
    """

    clients: Count = 2

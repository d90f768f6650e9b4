"""How good the clients' own models are."""

from dataclasses import dataclass

from fedbench.probe import Probe


@dataclass(frozen=True)
class Locals(Probe):
    """Accuracy of the cohort's local models on the whole test set."""

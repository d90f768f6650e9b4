"""How local updates lie to the previous global one."""

from dataclasses import dataclass

from fedbench.probe import Probe


@dataclass(frozen=True)
class Angles(Probe):
    """Angles of the updates to the previous global update, FedDPC's scales, and variances."""

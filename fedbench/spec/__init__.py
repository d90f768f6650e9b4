"""The settings of a training run, and the identity that follows from them."""

from fedbench.spec.choice import Choice, assign
from fedbench.spec.fields import Augment, Tune
from fedbench.spec.numerics_versions import NUMERICS
from fedbench.spec.run import LISTED, NAMED, SLUG, RunSpec

__all__ = ["LISTED", "NAMED", "NUMERICS", "SLUG", "Augment", "Choice", "RunSpec", "Tune", "assign"]

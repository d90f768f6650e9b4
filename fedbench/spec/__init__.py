"""The settings of a training run, and the identity that follows from them."""

from fedbench.spec.choice import Choice, assign
from fedbench.spec.numerics import NUMERICS
from fedbench.spec.run import NAMED, SLUG, RunSpec
from fedbench.spec.sections import MOST_TRIALS, Augment, Tune

__all__ = [
    "MOST_TRIALS",
    "NAMED",
    "NUMERICS",
    "SLUG",
    "Augment",
    "Choice",
    "RunSpec",
    "Tune",
    "assign",
]

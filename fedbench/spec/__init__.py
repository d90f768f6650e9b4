"""The settings of a training run, and the identity that follows from them."""

from fedbench.base.choice import Choice
from fedbench.spec.assign import assign
from fedbench.spec.augment import Augment
from fedbench.spec.numerics import NUMERICS
from fedbench.spec.run import NAMED, SLUG, RunSpec
from fedbench.spec.tune import MOST_TRIALS, Tune

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

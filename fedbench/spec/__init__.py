"""The settings of a training run, and the identity that follows from them."""

from fedbench.spec.choice import Choice as Choice
from fedbench.spec.choice import assign as assign
from fedbench.spec.numerics import NUMERICS as NUMERICS
from fedbench.spec.run import LISTED as LISTED
from fedbench.spec.run import NAMED as NAMED
from fedbench.spec.run import SLUG as SLUG
from fedbench.spec.run import RunSpec as RunSpec
from fedbench.spec.sections import MOST_TRIALS as MOST_TRIALS
from fedbench.spec.sections import Augment as Augment
from fedbench.spec.sections import Tune as Tune

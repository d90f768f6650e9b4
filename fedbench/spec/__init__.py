"""The settings of a training run, and the identity that follows from them."""

from fedbench.spec.choice import Choice as Choice
from fedbench.spec.choice import assign as assign
from fedbench.spec.fields import MOST_TRIALS as MOST_TRIALS
from fedbench.spec.fields import Augment as Augment
from fedbench.spec.fields import Tune as Tune
from fedbench.spec.numerics import NUMERICS as NUMERICS
from fedbench.spec.run import LISTED as LISTED
from fedbench.spec.run import NAMED as NAMED
from fedbench.spec.run import SLUG as SLUG
from fedbench.spec.run import RunSpec as RunSpec

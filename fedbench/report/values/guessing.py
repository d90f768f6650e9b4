"""What guessing gives on a data set, and which accuracies are near it and rank nothing."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt

from fedbench.base import registry
from fedbench.base.errors import FedbenchError
from fedbench.spec import Choice

_POINTS = 0.05  # a difference that matters, as an accuracy
_ERRORS = 2  # standard errors


@dataclass(frozen=True)
class Guess:
    """A guess of the largest class: its accuracy on `samples`, beside the number to `train`."""

    accuracy: float
    samples: int
    train: int

    def held_out(self, share: float) -> "Guess":
        """The same on a share of the training samples, as trials of a search are scored."""
        return replace(self, samples=max(1, round(share * self.train)))

    @property
    def limit(self) -> float:
        """The accuracy below which a model may only guess.

        It adds two standard errors to the guess, and five points, or half of its hits or misses
        where these are less: 15 % with 10 equal classes, 1.5 % with 100, 55 % with two, and 97.5 %
        where 95 % of the samples are of one class.
        """
        hits, misses = self.accuracy, 1 - self.accuracy
        error = sqrt(hits * misses / self.samples)
        return hits + max(min(_POINTS, hits / 2, misses / 2), _ERRORS * error)

    @property
    def learned(self) -> float:
        """The accuracy that FedAvg should reach in mild settings, for a table to mean something.

        It adds 20 points to the guess, or three times its hits or 0.3 of its misses where these are
        less: 30 % with 10 equal classes, 4 % with 100, 65 % with two.
        """
        gain = min(0.2, 3 * self.accuracy, 0.3 * (1 - self.accuracy))
        return max(self.accuracy + gain, self.limit)


GuessOf = Callable[[Choice], Guess | None]


def declared(dataset: Choice) -> Guess | None:
    """What guessing gives on a data set that says so without being loaded."""
    try:
        source = registry.build("dataset", dataset.name, dataset.params)
    except FedbenchError:  # a data set that is given as an object
        return None
    largest, samples = source.largest_class(), source.samples()
    if not (largest and samples):
        return None
    return Guess(largest / samples[1], samples[1], samples[0])

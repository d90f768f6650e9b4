"""What guessing would give: accuracies near it rank nothing."""

import json
from functools import cache

from fedbench.base import registry
from fedbench.base.errors import FedbenchError
from fedbench.spec import Choice

NEAR = 1.5  # times chance: below it a run has learned next to nothing


def chance(dataset: Choice) -> float | None:
    """The accuracy of a guess, 0 to 1, if classes are equally frequent; None if it is unknown."""
    return _chance(dataset.name, json.dumps(dataset.params))


@cache
def _chance(name: str, params: str) -> float | None:
    try:
        classes = registry.build("dataset", name, json.loads(params)).label_count()
    except FedbenchError:  # a data set that is given as an object
        return None
    return 1 / classes if classes else None

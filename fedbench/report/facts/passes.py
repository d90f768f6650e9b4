"""What a client computes and exchanges in a round of each method."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from fedbench.report.tables.fact import Fact, Source, added_cost
from fedbench.report.tables.sheet import Column, Row, Sheet, Value

_MODEL = 10**9  # weights: beside them, what does not grow with the model is nothing
_NOTE = (
    "Read off what the methods' parts declare. Passes are through a client's data; kept: a "
    "teacher's outputs are computed once a round, which needs training data without augmentation. "
    "Traffic in models; label counts and the like are left out."
)


@dataclass(frozen=True)
class Passes(Fact):
    """Passes through a client's data and models sent a round (ASD paper, section 6).

    `methods` are named methods.
    """

    methods: tuple[str, ...]

    def sheet(self, source: Source) -> Sheet:
        """A row a method."""
        local = ("Forward, outputs kept", "Forward, as run here", "Backward")
        columns = [Column(title, "Passes a client and round") for title in local]
        columns += [Column(title, "Models a client and round") for title in ("Received", "Sent")]
        rows = tuple(Row(name, _values(name, source)) for name in self.methods)
        return Sheet("Method", tuple(columns), rows, _NOTE)


def _values(name: str, source: Source) -> tuple[Value, ...]:
    epochs = source.run({}).local_epochs or 1
    cost = _cost(source.method(name)[1], epochs)
    kept = epochs * (1 + cost["forward"] - cost["teachers"]) + cost["teachers"]
    local = (kept, epochs * (1 + cost["forward"]), epochs * (1 + cost["backward"]))
    sent = (round(1 + cost[way] / _MODEL, 6) for way in ("down", "up"))
    return tuple(_plain(value) for value in (*local, *sent))


def _cost(parts: list[Any], epochs: int) -> Counter[str]:
    from fedbench.core.part import Sizes  # only here, as it loads torch

    return added_cost(parts, Sizes(d=_MODEL, classes=10, K=100, m=10, epochs=epochs))


def _plain(value: float) -> float:
    return int(value) if float(value).is_integer() else value

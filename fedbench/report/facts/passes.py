"""What each method computes and sends in a round: passes through a client's data, and models."""

from dataclasses import dataclass

from fedbench.report.tables.exchange import Exchange, of_large_model
from fedbench.report.tables.fact import Fact, PaperReader
from fedbench.report.tables.fact_table import FactColumn, FactRow, FactTable, Value

_NOTE = (
    "Read from what our implementations of the methods declare. Passes are through all data of a "
    "client. With outputs stored, a teacher's outputs are computed once per round instead of once "
    "per epoch, which needs training data without augmentation. Models count what is sent in "
    "multiples of the model's size; label counts and the like are left out."
)


@dataclass(frozen=True)
class Passes(Fact):
    """Passes through a client's data and models sent, per round (ASD paper, section 6).

    `methods` are levels of the axis `method`.
    """

    methods: tuple[str, ...]

    def table(self, reader: PaperReader) -> FactTable:
        """One row per method."""
        local = ("Forward, outputs stored", "Forward, as run here", "Backward")
        columns = [FactColumn(title, "Passes per client and round") for title in local]
        columns += [
            FactColumn(title, "Models per client and round") for title in ("Received", "Sent")
        ]
        epochs = reader.run({}).local_epochs or 1
        rows = tuple(
            FactRow(name, _values(of_large_model(reader.method(name)[1], epochs), epochs))
            for name in self.methods
        )
        return FactTable("Method", tuple(columns), rows, _NOTE)


def _values(one: Exchange, epochs: int) -> tuple[Value, ...]:
    stored = epochs * (one.forward - one.teachers) + one.teachers
    passes = (stored, epochs * one.forward, epochs * one.backward)
    return tuple(_plain(x) for x in (*passes, round(one.received, 6), round(one.sent, 6)))


def _plain(value: float) -> float:
    return int(value) if float(value).is_integer() else value

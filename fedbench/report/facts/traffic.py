"""What each method sends in a round, in models, and how many passes it makes per sample."""

from collections.abc import Iterator
from dataclasses import dataclass

from fedbench.paper.notation import Level
from fedbench.report.tables.exchange import Exchange, of_network
from fedbench.report.tables.fact import Fact, PaperReader
from fedbench.report.tables.fact_table import FactColumn, FactRow, FactTable, Value
from fedbench.report.values.numbers import point_name

_SENT = ("Received", "Sent")
_PASSES = ("Forward", "Backward")
_NOTE = (
    "Read from what our implementations of the methods declare beyond FedAvg. FedAvg sends the "
    "model to each client and back, and makes one forward and one backward pass per sample. A "
    "teacher's pass counts each time it is made."
)


@dataclass(frozen=True)
class Traffic(Fact):
    """Numbers sent per client and round, in models, and passes per sample (FedADC paper, II-A).

    `rows`: the levels that have a row, by axis ({method: [FedAvg, FedADC], M: [1, 5]}); `at`:
    levels of other axes that say which network is meant ({dataset: CIFAR-10}).
    """

    rows: dict[str, list[Level]]
    at: dict[str, Level]

    def table(self, reader: PaperReader) -> FactTable:
        """One row per level, axis by axis."""
        columns = [FactColumn(title, "Models per client and round") for title in _SENT]
        columns += [FactColumn(title, "Passes per sample") for title in _PASSES]
        run = reader.run(self.at)
        rows = tuple(
            FactRow(point_name(axis, level), _values(of_network(run, reader.built(axis, level)[1])))
            for axis, level in self._levels()
        )
        return FactTable("Method", tuple(columns), rows, _NOTE)

    def _levels(self) -> Iterator[tuple[str, Level]]:
        for axis, levels in self.rows.items():
            yield from ((axis, level) for level in levels)


def _values(one: Exchange) -> tuple[Value, ...]:
    return tuple(f"{x:.4g}" for x in (one.received, one.sent, one.forward, one.backward))

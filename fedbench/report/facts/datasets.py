"""How large the data sets of a paper are, as printed and as counted here."""

from dataclasses import dataclass, field

from fedbench.paper.notation import Level
from fedbench.report.tables.fact import Fact, PaperReader, client_sizes, constant
from fedbench.report.tables.fact_table import FactColumn, FactRow, FactTable, Value
from fedbench.spec import RunSpec

_PRINTED = {"train_size": "Training samples", "classes": "Classes", "clients": "Clients"}
_NOTE = (
    "Counted here by dividing as many labels as the data set has among the clients, each class "
    "equally frequent."
)


@dataclass(frozen=True)
class Datasets(Fact):
    """Training and test samples, classes, clients and samples per client (FedGKD paper, Table 2).

    `rows` are levels of the axis `dataset`; `at` are levels of other axes ({alpha: 0.1}).
    """

    rows: tuple[str, ...]
    at: dict[str, Level] = field(default_factory=dict)

    def table(self, reader: PaperReader) -> FactTable:
        """Printed numbers beside those counted here."""
        counted = (*_PRINTED.values(), "Test samples", "Samples per client")
        columns = [FactColumn(title, "Printed in the paper") for title in _PRINTED.values()]
        columns += [FactColumn(title, "Counted here") for title in counted]
        rows = tuple(FactRow(name, self._values(name, reader)) for name in self.rows)
        return FactTable("Data set", tuple(columns), rows, _NOTE)

    def _values(self, name: str, reader: PaperReader) -> tuple[Value, ...]:
        run = reader.run({"dataset": name, **self.at})
        printed = [reader.number(name, metric) for metric in _PRINTED]
        given, sizes = _sizes(run)
        values = (given, constant(run, "CLASSES"), run.clients, constant(run, "SAMPLES")[1], sizes)
        return (*(None if x is None else int(x) for x in printed), *values)


def _sizes(run: RunSpec) -> tuple[int, str]:
    """Training samples that are not held out; those of the smallest and of the largest client."""
    train, sizes = client_sizes(run)
    ends = dict.fromkeys(f"{size:,}" for size in (sizes[0], sizes[-1]))
    return train, " to ".join(ends)

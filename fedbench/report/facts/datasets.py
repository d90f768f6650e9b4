"""How large the data sets are."""

from dataclasses import dataclass, field

from fedbench.paper.places import Level
from fedbench.report.tables.fact import Fact, Source, constant, shares
from fedbench.report.tables.sheet import Column, Row, Sheet, Value
from fedbench.spec import RunSpec

_PRINTED = {"train_size": "Training samples", "classes": "Classes", "clients": "Clients"}
_NOTE = (
    "Counted: what the partition gives to clients, on as many labels as the source has, equally "
    "frequent."
)


@dataclass(frozen=True)
class Datasets(Fact):
    """Training and test samples, classes, clients and samples a client (FedGKD paper, Table 2).

    `rows` are levels of the axis `dataset`; `at` are levels of other axes ({alpha: 0.1}).
    """

    rows: tuple[str, ...]
    at: dict[str, Level] = field(default_factory=dict)

    def sheet(self, source: Source) -> Sheet:
        """Printed numbers beside those that the code gives."""
        counted = (*_PRINTED.values(), "Test samples", "Samples a client")
        columns = [Column(title, "Printed in the paper") for title in _PRINTED.values()]
        columns += [Column(title, "Counted here") for title in counted]
        rows = tuple(Row(name, self._values(name, source)) for name in self.rows)
        return Sheet("Data set", tuple(columns), rows, _NOTE)

    def _values(self, name: str, source: Source) -> tuple[Value, ...]:
        run = source.run({"dataset": name, **self.at})
        printed = [source.number(name, metric) for metric in _PRINTED]
        given, sizes = _sizes(run)
        known = (given, constant(run, "CLASSES"), run.clients, constant(run, "SAMPLES")[1], sizes)
        return (*(None if x is None else int(x) for x in printed), *known)


def _sizes(run: RunSpec) -> tuple[int, str]:
    """Training samples that are not held out, and the smallest and largest client."""
    train, sizes = shares(run)
    ends = dict.fromkeys(f"{size:,}" for size in (sizes[0], sizes[-1]))
    return train, " to ".join(ends)

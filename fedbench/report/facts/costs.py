"""What each method computes in a round, in vector operations, phase by phase."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from fedbench.report.tables.fact import Fact, PaperReader, added_cost
from fedbench.report.tables.fact_table import FactColumn, FactRow, FactTable

Terms = Counter[str]  # how often each kind of operation is made

_LOCAL = (
    *("Model initialization", "Gradient computation", "Model update"),
    *("Computing gradient update", "Total local costs"),
)
_SERVER = ("Global model update", "Maintain previous state", "Total server cost")
_ORDER = ("H·g", "H·f", "H", "m", "")
_NOTE = (
    "1 stands for an operation on vectors of the model's size, g for the gradient of a mini-batch, "
    "f for a forward pass alone; H is the number of local steps, m that of clients per round. "
    "Counted from what our implementations of the methods declare beyond FedAvg; the paper's own "
    "symbols could not be recovered."
)


@dataclass(frozen=True)
class Costs(Fact):
    """Vector operations by phase, as in Table 1 of the FedDPC paper, from what the parts declare.

    `methods` are levels of the axis `method`.
    """

    methods: tuple[str, ...]

    def table(self, reader: PaperReader) -> FactTable:
        """One row per method, under the paper's column names."""
        columns = [FactColumn(title, "Local costs") for title in _LOCAL]
        columns += [FactColumn(title, "Server costs") for title in _SERVER]
        rows = tuple(_row(name, reader) for name in self.methods)
        return FactTable("Method", tuple(columns), rows, _NOTE)


def _row(name: str, reader: PaperReader) -> FactRow:
    parts = reader.method(name)[1]
    epochs = reader.run({}).local_epochs or 1
    local, server = _local(parts, epochs), _server(parts, epochs)
    cells = [*local, _sum(local), *server, _sum(server)]
    return FactRow(name, tuple(_text(cell) for cell in cells))


def _local(parts: list[Any], epochs: int) -> list[Terms]:
    """At a client: FedAvg copies x_t, makes a gradient and an update per step, and a difference."""
    total = _cost(parts, epochs, m=1)
    moved = _cost([part for part in parts if _moves(part)], epochs, m=1)["ops_step"]
    passes = {"H·g": 1 + total["backward"], "H·f": total["forward"] - total["backward"]}
    return [
        Counter({"": 1 + total["ops_begin"]}),
        Counter({**passes, "H": total["ops_step"] - moved}),
        Counter({"H": 1 + moved}),
        Counter({"": 1 + total["ops_end"]}),
    ]


def _server(parts: list[Any], epochs: int) -> list[Terms]:
    """At the server: FedAvg adds up m updates; what a part declares may grow with m."""
    one, two = (_cost(parts, epochs, m) for m in (1, 2))
    slope = {name: two[name] - one[name] for name in two}
    step = Counter({"m": 1 + one["ops_receive"] + slope["ops_server"]})
    step[""] = one["ops_server"] - slope["ops_server"]
    maintain = slope["ops_maintain"]
    return [step, Counter({"m": maintain, "": one["ops_maintain"] - maintain})]


def _cost(parts: list[Any], epochs: int, m: int) -> Terms:
    from fedbench.core.part import LARGE  # only here, as it loads torch

    return added_cost(parts, replace(LARGE, m=m, epochs=epochs))


def _moves(part: Any) -> bool:
    """Whether a part changes the step taken, and not the gradient."""
    from fedbench.core.part import overriding

    return bool(overriding([part], "move")) and not overriding([part], "grad")


def _sum(cells: list[Terms]) -> Terms:
    total: Terms = Counter()
    for cell in cells:
        total.update(cell)
    return total


def _text(cell: Terms) -> str | None:
    """'H·g + 2H', or None for nothing."""
    return " + ".join(_term(cell[name], name) for name in _ORDER if cell[name]) or None


def _term(count: float, name: str) -> str:
    return f"{count:g}" if not name else name if count == 1 else f"{count:g}{name}"

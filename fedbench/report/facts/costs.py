"""What a round of each method computes, phase by phase."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from fedbench.report.tables.fact import Fact, Source, added_cost
from fedbench.report.tables.sheet import Column, Row, Sheet

Terms = Counter[str]  # how often each kind of operation is made

_LOCAL = (
    *("Model initialization", "Gradient computation", "Model update"),
    *("Computing gradient update", "Total local costs"),
)
_SERVER = ("Global model update", "Maintain previous state", "Total server cost")
_ORDER = ("H·g", "H·f", "H", "m", "")
_NOTE = (
    "1 is an operation on vectors of the model's size, g a mini-batch's gradient, f a forward pass "
    "alone; H local steps, m clients a round. Counted in our implementation from what the "
    "methods' parts declare beyond FedAvg: the paper's own symbols are lost."
)


@dataclass(frozen=True)
class Costs(Fact):
    """Vector operations by phase, as FedDPC's Table 1 counts them, from the parts' declared costs.

    `methods` are named methods.
    """

    methods: tuple[str, ...]

    def sheet(self, source: Source) -> Sheet:
        """A row a method, under the paper's column names."""
        columns = [Column(title, "Local costs") for title in _LOCAL]
        columns += [Column(title, "Server costs") for title in _SERVER]
        rows = tuple(_row(name, source) for name in self.methods)
        return Sheet("Method", tuple(columns), rows, _NOTE)


def _row(name: str, source: Source) -> Row:
    parts = source.method(name)[1]
    epochs = source.run({}).local_epochs or 1
    local, server = _local(parts, epochs), _server(parts, epochs)
    cells = [*local, _sum(local), *server, _sum(server)]
    return Row(name, tuple(_text(cell) for cell in cells))


def _local(parts: list[Any], epochs: int) -> list[Terms]:
    """FedAvg copies x_t, makes a gradient and an update each step, and takes one difference."""
    own = _cost(parts, epochs, m=1)
    moved = _cost([part for part in parts if _moves(part)], epochs, m=1)["ops_step"]
    passes = {"H·g": 1 + own["backward"], "H·f": own["forward"] - own["backward"]}
    return [
        Counter({"": 1 + own["ops_begin"]}),
        Counter({**passes, "H": own["ops_step"] - moved}),
        Counter({"H": 1 + moved}),
        Counter({"": 1 + own["ops_end"]}),
    ]


def _server(parts: list[Any], epochs: int) -> list[Terms]:
    """FedAvg adds one update a client; what a part declares may grow with m."""
    one, two = (_cost(parts, epochs, m) for m in (1, 2))
    slope = {name: two[name] - one[name] for name in two}
    step = Counter({"m": 1 + one["ops_receive"] + slope["ops_server"]})
    step[""] = one["ops_server"] - slope["ops_server"]
    kept = slope["ops_maintain"]
    return [step, Counter({"m": kept, "": one["ops_maintain"] - kept})]


def _cost(parts: list[Any], epochs: int, m: int) -> Terms:
    from fedbench.core.part import Sizes  # only here, as it loads torch

    return added_cost(parts, Sizes(d=1, classes=1, K=100, m=m, epochs=epochs))


def _moves(part: Any) -> bool:
    """Whether a part's work of each step is at the step taken, not at the gradient."""
    from fedbench.core.part import overriding

    return bool(overriding([part], "move")) and not overriding([part], "grad")


def _sum(cells: list[Terms]) -> Terms:
    total: Terms = Counter()
    for cell in cells:
        total.update(cell)
    return total


def _text(cell: Terms) -> str | None:
    """'H·g + 2H', or None for nothing."""
    found = [(cell[name], name) for name in _ORDER if cell[name]]
    return " + ".join(_term(count, name) for count, name in found) or None


def _term(count: float, name: str) -> str:
    return f"{count:g}" if not name else name if count == 1 else f"{count:g}{name}"

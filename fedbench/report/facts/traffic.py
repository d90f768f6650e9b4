"""What a client and the server exchange in a round, and the passes that a method costs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from fedbench.paper.places import Level
from fedbench.report.tables.fact import Fact, Source, added_cost, constant, network
from fedbench.report.tables.sheet import Column, Row, Sheet, Value
from fedbench.report.values.numbers import point_name
from fedbench.sampling.sampler import cohort_size
from fedbench.spec import RunSpec

if TYPE_CHECKING:
    from torch.nn import Linear

    from fedbench.core.part import Sizes

_SENT = ("Down", "Up")
_PASSES = ("Forward", "Backward")
_NOTE = (
    "From what the methods' parts declare beyond FedAvg, which sends the model down and up and "
    "makes one pass forward and backward for each sample. Teachers count each time that they run."
)


@dataclass(frozen=True)
class Traffic(Fact):
    """Numbers sent per client and round, in models, and passes per sample (FedADC paper, II-A).

    `rows`: the levels that have a row, by axis ({method: [FedAvg, FedADC], M: [1, 5]}); `at`:
    levels of other axes that say which network is meant ({dataset: CIFAR-10}).
    """

    rows: dict[str, list[Level]]
    at: dict[str, Level]

    def sheet(self, source: Source) -> Sheet:
        """A row for each level, axis by axis."""
        columns = [Column(title, "Models per client and round") for title in _SENT]
        columns += [Column(title, "Passes per sample") for title in _PASSES]
        size = _size(source.run(self.at))
        rows = tuple(
            Row(point_name(axis, level), _values(source.built(axis, level)[1], size))
            for axis, level in self._levels()
        )
        return Sheet("Method", tuple(columns), rows, _NOTE)

    def _levels(self) -> Iterator[tuple[str, Level]]:
        for axis, levels in self.rows.items():
            yield from ((axis, level) for level in levels)


def _size(run: RunSpec) -> "Sizes":
    """What costs depend on, of the paper's own network."""
    from fedbench.core.part import Sizes  # only here, as it loads torch

    module = network(run)
    return Sizes(
        d=sum(value.numel() for value in module.parameters()),
        classes=constant(run, "CLASSES"),
        K=run.clients,
        m=cohort_size(run.clients, run.participation),
        epochs=run.local_epochs or 1,
        features=cast("Linear", module.get_submodule("head")).in_features,
    )


def _values(parts: list[Any], size: "Sizes") -> tuple[Value, ...]:
    """Down, up, forward, backward: FedAvg's one each and what the parts add."""
    cost = added_cost(parts, size)
    added = (cost["down"] / size.d, cost["up"] / size.d, cost["forward"], cost["backward"])
    return tuple(f"{1 + value:.4g}" for value in added)

"""How much the first and last local gradients count in the momentum of MFL and RMFL."""

import math
from dataclasses import dataclass
from statistics import median, median_low

from fedbench.base import registry
from fedbench.base.checks import Count
from fedbench.paper.notation import Level
from fedbench.report.tables.fact import Fact, PaperReader, client_sizes
from fedbench.report.tables.fact_table import FactColumn, FactRow, FactTable
from fedbench.report.values.numbers import point_name
from fedbench.spec import RunSpec

_NOTE = (
    "H is the number of local steps of a client with the median number of samples, a median over "
    "the seeds; samples are counted by dividing as many labels as the data set has among the "
    "clients, each class equally frequent. In the momentum that a client uploads, first and last "
    "are the weights of its first and its last gradient; all is the sum of the weights, that of "
    "the inherited momentum included."
)


@dataclass(frozen=True)
class Momentum(Fact):
    """Weights of gradients in the momentum of MFL and of RMFL's readings (RMFL paper, equation 3).

    `rows` are levels of the axis `dataset`, `levels` those of the axis `axis`, and each pair has a
    row. β is that of the method named RMFL in the paper's file; `readings` are values of its field
    `reading`; sizes of clients are a median over `seeds` partitions.
    """

    rows: tuple[str, ...]
    levels: tuple[Level, ...]
    axis: str = "alpha"
    readings: tuple[str, ...] = ("r1", "lit", "r2")
    seeds: Count = 10

    def table(self, reader: PaperReader) -> FactTable:
        """One row per setting, under its data set."""
        groups = ("MFL", *(f"RMFL, {name.upper()}" for name in self.readings))
        columns = [FactColumn("Samples per client"), FactColumn("H")]
        columns += [
            FactColumn(title, group) for group in groups for title in ("first", "last", "all")
        ]
        rows = tuple(self._row(name, level, reader) for name in self.rows for level in self.levels)
        return FactTable("Setting", tuple(columns), rows, _NOTE)

    def _row(self, name: str, level: Level, reader: PaperReader) -> FactRow:
        run = reader.run({"dataset": name, self.axis: level})
        sizes = [median(client_sizes(run.changed(seed=seed))[1]) for seed in range(self.seeds)]
        H = median_low([local_steps(run, size) for size in sizes])
        cells = [f"{x:.3f}" for weights in self._weights(H, reader) for x in weights]
        return FactRow(point_name(self.axis, level), (round(median(sizes)), H, *cells), name)

    def _weights(self, H: int, reader: PaperReader) -> list[tuple[float, float, float]]:
        """The weights first, last and all, of MFL and then of each reading."""
        beta = reader.method("RMFL")[1][0].beta
        params = [{"beta": beta, "reading": reading} for reading in self.readings]
        parts = [registry.build("method", "rmfl", each) for each in params]
        usual = (beta**H, [beta ** (H - 1 - k) for k in range(H)])
        return [(g[0], g[-1], v + sum(g)) for v, g in (usual, *(p.weights(H) for p in parts))]


def local_steps(run: RunSpec, samples: float) -> int:
    """How many local steps a client with this number of samples makes in a round, H."""
    return run.steps or (run.epochs or 1) * math.ceil(samples / (run.batch or samples))

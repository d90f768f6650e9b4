"""Which local gradients count most in RMFL's momentum, setting by setting."""

import math
from dataclasses import dataclass
from statistics import median, median_low

from fedbench.base import registry
from fedbench.base.checked import Count
from fedbench.paper.places import Level
from fedbench.report.tables.fact import Fact, Source, shares
from fedbench.report.tables.sheet import Column, Row, Sheet
from fedbench.report.values.numbers import point_name
from fedbench.spec import RunSpec

_NOTE = (
    "H is the number of local steps of a client with the median number of samples, a median over "
    "the seeds; samples are counted with the partition on as many labels as the source has, "
    "equally frequent. First and last are the weights of a client's first and last gradient in "
    "the momentum that it uploads, all is the sum of the weights, that of the inherited momentum "
    "among them."
)


@dataclass(frozen=True)
class Momentum(Fact):
    """Weights of gradients in the momentum of MFL and of RMFL's readings (RMFL paper, equation 3).

    `rows` are levels of the axis `dataset`, `levels` those of the axis `axis`; β is that of the
    paper's method RMFL; `seeds`: partitions drawn for each.
    """

    rows: tuple[str, ...]
    levels: tuple[Level, ...]
    axis: str = "alpha"
    readings: tuple[str, ...] = ("r1", "lit", "r2")
    seeds: Count = 10

    def sheet(self, source: Source) -> Sheet:
        """A row per setting, under its data set."""
        groups = ("MFL", *(f"RMFL, {name.upper()}" for name in self.readings))
        columns = [Column("Samples per client"), Column("H")]
        columns += [Column(title, group) for group in groups for title in ("first", "last", "all")]
        rows = tuple(self._row(name, level, source) for name in self.rows for level in self.levels)
        return Sheet("Setting", tuple(columns), rows, _NOTE)

    def _row(self, name: str, level: Level, source: Source) -> Row:
        run = source.run({"dataset": name, self.axis: level})
        sizes = [median(shares(run.changed(seed=seed))[1]) for seed in range(self.seeds)]
        H = median_low([local_steps(run, size) for size in sizes])
        cells = [f"{x:.3f}" for own in self._weights(H, source) for x in own]
        return Row(point_name(self.axis, level), (round(median(sizes)), H, *cells), name)

    def _weights(self, H: int, source: Source) -> list[tuple[float, float, float]]:
        """First, last, all: of MFL, then of each reading."""
        beta = source.method("RMFL")[1][0].beta
        params = [{"beta": beta, "reading": reading} for reading in self.readings]
        parts = [registry.build("method", "rmfl", own) for own in params]
        usual = (beta**H, [beta ** (H - 1 - k) for k in range(H)])
        return [(g[0], g[-1], v + sum(g)) for v, g in (usual, *(p.weights(H) for p in parts))]


def local_steps(run: RunSpec, samples: float) -> int:
    """H of a client with so many samples."""
    return run.steps or (run.epochs or 1) * math.ceil(samples / (run.batch or samples))

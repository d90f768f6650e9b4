"""The base of the probes, which watch a run without changing it."""

from abc import ABC
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from fedbench.base import registry, seeds
from fedbench.base.checked import Checked
from fedbench.base.errors import FedbenchError
from fedbench.core import chance
from fedbench.core.flat import Model
from fedbench.core.round import Round, State
from fedbench.engine.local import ClientResult
from fedbench.engine.problem import Problem
from fedbench.engine.turns import PreparedClient
from fedbench.spec import RunSpec

Cells = dict[str, float | int | str]  # one row of a probe's table


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One round as a probe sees it, after aggregation.

    r: the round as it began (r.w, r.buffers: the global model x_t; r.clients; r.lr); clients: who
    trained on what, as it was before local training (see `analysis.replay`); replies: what came
    back (reply.w is y_i); new: x_{t+1}; scored: the model whose accuracy leads the history (new
    where the round is not evaluated); evaluated: whether this round is a row of the history; last:
    whether it is the run's last. `mine` is what the probe keeps between rounds: tensors, rebound
    and not changed in place.
    """

    problem: Problem
    r: Round
    clients: Sequence[PreparedClient]
    replies: Sequence[ClientResult]
    new: Model
    scored: Model
    evaluated: bool
    last: bool
    mine: State = field(default_factory=dict)

    @property
    def global_model(self) -> Model:
        """The global model x_t."""
        return Model(self.r.w, self.r.buffers)

    @property
    def local(self) -> list[Model]:
        """The cohort's models y_i, each with its own norm buffers."""
        return [Model(reply.w, reply.buffers) for reply in self.replies]

    def number(self, purpose: str) -> int:
        """A seed of the probe's own in this round."""
        return seeds.number(
            self.problem.spec.seed, self.r.round, seeds.EVERYONE, f"probe {purpose}"
        )

    def chance(self, purpose: str) -> AbstractContextManager[None]:
        """Random numbers of the probe's own from torch's shared generators, for a while."""
        return chance.lent(self.number(purpose), self.problem.device)


def require_classes(probe: "Probe", problem: Problem) -> None:
    """Raise `FedbenchError` if the data have no classes."""
    if not problem.fed.classes:
        raise FedbenchError(
            f"watch: {type(probe).__name__.lower()} counts hits by class, but data set "
            f"'{problem.data.name}' has no classes"
        )


class Sight(NamedTuple):
    """What a probe saw in a round: columns of the history, rows of its own table."""

    columns: dict[str, float]
    rows: list[Cells]


class Probe(Checked, ABC):
    """Something to watch; one file in `fedbench/probes`, named in a run's `watch`.

    A probe may keep memory in `s.mine`, which survives a crash, and is given every round but that
    of a divergence. It overrides `row` or `table`, or `see` where both come of one computation.
    What it may write is declared as a literal, so that a plan can tell a metric that no run has.
    """

    COLUMNS: ClassVar[tuple[str, ...]] = ()  # of the history
    TABLE: ClassVar[tuple[str, ...]] = ()  # of the probe's own table

    def require(self, problem: Problem) -> None:
        """Raise `FedbenchError`, before any training, if such a run cannot be watched."""

    def see(self, s: Scene) -> Sight:
        """Columns and rows of a round; the columns count where the round is evaluated."""
        rows = self.table(s)
        return Sight(self.row(s) if s.evaluated else {}, rows)

    def row(self, s: Scene) -> dict[str, float]:
        """Columns that an evaluated round adds to the history."""
        return {}

    def table(self, s: Scene) -> list[Cells]:
        """Rows that a round adds to the probe's own table, `<probe>.parquet` in the run folder."""
        return []


def build_probes(spec: RunSpec) -> tuple[Probe, ...]:
    """The probes that the spec lists, in order."""
    return tuple(registry.build("probe", probe.name, probe.params) for probe in spec.watch)

"""The base class of probes, which measure something in a run without changing it."""

import copy
from abc import ABC
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fedbench.base import seeds
from fedbench.base.checks import Checked
from fedbench.base.errors import FedbenchError, shown
from fedbench.core.flat_network import Model
from fedbench.core.rng import seeded
from fedbench.core.round_data import OneLine, Round, State, unpack
from fedbench.engine.problem import ClientResult, PreparedClient, Problem

Cells = dict[str, float | int | str]  # one row of a probe's table
# By the column's name: its label, its unit ('' for none; 'fraction' may be shown in percent), and
# which direction is better ('higher', 'lower', '' for neither)
Columns = dict[str, tuple[str, str, str]]


@dataclass(frozen=True, kw_only=True, repr=False)
class Scene(OneLine):
    """One round as a probe sees it, after aggregation.

    r: the round as it began (r.w, r.buffers: the global model x_t; r.clients; r.lr); clients: the
    cohort as prepared before local training (see `probes.steps`); replies: the results of local
    training (reply.w is y_i); new: x_{t+1}; scored: the model whose accuracy is the run's (new if
    the round is not evaluated); evaluated: whether this round is a row of the history; last:
    whether it is the run's last; state: tensors that the probe stores from round to round, which it
    replaces and never changes in place; stored: what the parts have stored for a client.
    """

    problem: Problem
    r: Round
    clients: Sequence[PreparedClient]
    replies: Sequence[ClientResult]
    new: Model
    scored: Model
    evaluated: bool
    last: bool
    state: State = field(default_factory=dict)
    stored: Callable[[int], Sequence[State]]

    def copied(self) -> "Scene":
        """The scene with tensors of its own, which users' code may change."""
        mine = copy.deepcopy((self.global_model, self.replies, self.new, self.scored))
        start, replies, new, scored = mine
        r = replace(self.r, w=start.w, buffers=start.buffers)
        return replace(
            self, r=r, replies=replies, new=new, scored=scored,
            stored=lambda client: copy.deepcopy(self.stored(client)),
        )  # fmt: skip

    @property
    def global_model(self) -> Model:
        """The global model x_t."""
        return Model(self.r.w, self.r.buffers)

    @property
    def local(self) -> list[Model]:
        """The cohort's models y_i, each with its own norm buffers."""
        return [Model(reply.w, reply.buffers) for reply in self.replies]

    @property
    def own(self) -> list[Model]:
        """The models that the cohort's clients use themselves: y_i, unless a part has others."""
        return self.own_of(self.replies)

    def own_of(self, replies: Sequence[ClientResult]) -> list[Model]:
        """The models that the clients with these results use themselves."""
        named = [(i, part.OWN) for i, part in enumerate(self.problem.task.parts) if part.OWN]
        if not named:
            return [Model(reply.w, reply.buffers) for reply in replies]
        i, name = named[-1]
        return [unpack(reply.state[i], name) for reply in replies]

    def number(self, purpose: str) -> int:
        """A seed for this round and purpose, which nothing else in the run uses."""
        seed = self.problem.spec.seed
        return seeds.number(seed, self.r.round, seeds.EVERYONE, f"probe {purpose}")

    def seeded(self, purpose: str) -> AbstractContextManager[None]:
        """A context in which torch's shared generators start from the seed `number(purpose)`."""
        device, users = self.problem.device, self.problem.task.users.acts
        return seeded(self.number(purpose), device, users)


class Sight(NamedTuple):
    """What a probe measured in a round: columns of the history and rows of its own table."""

    columns: dict[str, float]
    rows: list[Cells]


class Probe(Checked, ABC):
    """Something that is measured while a run trains, listed in `watch`.

    A probe is called in every round, except one that diverged, and may store tensors in `s.state`,
    which checkpoints include. It overrides `row` or `table`, or `see` if one computation gives
    both. COLUMNS and TABLE declare what it may write. They must be literals, since they are read
    without an import: a plan refuses a metric that no run will have, and a report takes labels,
    units and directions from them.
    """

    COLUMNS: ClassVar[Columns] = {}  # columns that it adds to the history
    TABLE: ClassVar[Columns] = {}  # columns of its own table

    def require(self, problem: Problem) -> None:
        """Raise `FedbenchError`, before any training, if the probe cannot watch this run."""

    def see(self, s: Scene) -> Sight:
        """The columns and rows of a round; columns are used only if the round is evaluated."""
        rows = self.table(s)
        return Sight(self.row(s) if s.evaluated else {}, rows)

    def row(self, s: Scene) -> dict[str, float]:
        """The columns that an evaluated round adds to the history."""
        return {}

    def table(self, s: Scene) -> list[Cells]:
        """The rows that a round adds to the probe's table, `<probe>.parquet` in the run folder."""
        return []


class OfClasses(Probe):
    """A probe that measures something of classes."""

    def require(self, problem: Problem) -> None:
        """Raise `FedbenchError` if the data have no classes."""
        if not problem.fed.classes:
            said = f"watch: {type(self).__name__.lower()} needs classes"
            raise FedbenchError(f"{said}; data set '{problem.data.name}' has none")


def checked_sight(probe: Probe, s: Scene, taken: Collection[str], table: Sequence[Cells]) -> Sight:
    """What a probe sees, in numbers of Python's own: a checkpoint with NumPy's is not read.

    taken: the columns that the run has without probes. Two probes may share one that both declare.
    table: the rows that the probe wrote before.
    """
    seen, wrote = probe.see(s), f"watch: {type(probe).__name__.lower()} wrote"
    for column in seen.columns if s.evaluated else ():
        if column in taken:
            raise FedbenchError(f"{wrote} the column '{column}', which the run has without it")
        if column not in probe.COLUMNS:
            declared = ", ".join(probe.COLUMNS) or "nothing"
            said = f"{wrote} the column '{column}', but its COLUMNS declare {declared}"
            raise FedbenchError(said)
    columns = _own(seen.columns if s.evaluated else {}, int | float, wrote, "; it must be a number")
    of_table = " of its table; it must be a number or a word"
    rows = [_own(row, int | float | str, wrote, of_table) for row in seen.rows]
    for column, value in chain.from_iterable(map(dict.items, rows)):
        first = next(row[column] for row in chain(table, rows) if column in row)
        if isinstance(first, str) != isinstance(value, str):
            both = f"{shown(first)} and {shown(value)} into the column '{column}' of its table"
            raise FedbenchError(f"{wrote} {both}; a column has numbers or words, not both")
    return Sight(columns, rows)


def _own(values: dict[str, Any], kinds: Any, wrote: str, rule: str) -> dict[str, Any]:
    own = {k: v.item() if isinstance(v, np.generic) else v for k, v in values.items()}
    for column, value in own.items():
        if not isinstance(value, kinds):
            said = f"{wrote} {shown(value)} into the column '{column}'{rule}"
            raise FedbenchError(f"{said}; of a tensor x it is float(x)")
    return own

"""The base class of tables of facts, which need no run, and what they are computed from."""

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbench.base import registry
from fedbench.base.checks import Checked, checked
from fedbench.base.errors import FedbenchError, unknown
from fedbench.paper.levels import Settings, known_levels, layered, level_settings
from fedbench.paper.notation import Level
from fedbench.paper.paper import Paper
from fedbench.plan.printed import Place, Printed
from fedbench.report.tables.fact_table import FactTable
from fedbench.spec import Choice, RunSpec

if TYPE_CHECKING:
    from torch import nn

    from fedbench.core.part import Sizes


@dataclass(frozen=True)
class PaperReader:
    """Reads what a table of facts shows: the paper's settings and methods, its printed numbers.

    `key` is the table's key in the paper's file, by which errors name it.
    """

    key: str
    paper: Paper = field(repr=False)
    printed: Printed = field(repr=False)
    asked: list[Place] = field(default_factory=list, repr=False)  # the places looked up so far

    def number(self, dataset: str, metric: str) -> float | None:
        """The printed number at a place of this table; None if the paper prints none there."""
        place = Place(self.key, dataset, "", "", metric)
        self.asked.append(place)
        stat = self.printed.numbers.get(place)
        return stat.mean if stat else None

    def run(self, point: dict[str, Level]) -> RunSpec:
        """The run with the paper's settings and those of these levels, by axis."""
        for axis, level in point.items():
            self._check(axis, level)
        levels = [level_settings(self.paper.levels, axis, level) for axis, level in point.items()]
        return RunSpec(**layered([self.paper.settings, *levels]))

    def method(self, name: str) -> tuple[Settings, list[Any]]:
        """The settings of a named method, and its parts as objects; imports torch."""
        return self.built("method", name)

    def built(self, axis: str, level: Level) -> tuple[Settings, list[Any]]:
        """The settings of a level of any axis, and its parts as objects; imports torch."""
        self._check(axis, level)
        settings = level_settings(self.paper.levels, axis, level)
        choices = [checked(Choice, part) for part in settings.get("parts", ())]
        return settings, [registry.build("method", part.name, part.params) for part in choices]

    def _check(self, axis: str, level: Level) -> None:
        by_level = known_levels(axis, self.paper.levels)
        if by_level is None and axis not in RunSpec.model_fields:
            axes = [*self.paper.levels, *RunSpec.model_fields]
            raise FedbenchError(f"facts.{self.key}: {unknown('axis', axis, axes)}")
        if by_level is not None and level not in by_level and "each" not in by_level:
            raise FedbenchError(f"facts.{self.key}: {unknown(axis, level, map(str, by_level))}")


class Fact(Checked, ABC):
    """A table that needs no run; one file in `fedbench/report/facts`, its fields its options."""

    @abstractmethod
    def table(self, reader: PaperReader) -> FactTable:
        """The table, for the paper's own experiments whatever the scale."""


def fact_table(key: str, paper: Paper, printed: Printed) -> FactTable:
    """The table of facts `key` of a paper.

    Raises `FedbenchError` on an unknown name, or on a printed number that the table does not show.
    """
    choice = paper.facts[key].kind
    fact: Fact = registry.build("facts", choice.name, choice.params)
    reader = PaperReader(key, paper, printed)
    table = fact.table(reader)
    printed.refuse_strangers(key, reader.asked)
    return table


def constant(run: RunSpec, name: str) -> Any:
    """The class constant `name` of the run's data source.

    Raises `FedbenchError` if the source declares none.
    """
    entry = registry.find("dataset", run.dataset.name)
    if name not in entry.constants:
        raise FedbenchError(f"data set '{run.dataset.name}' declares no {name}")
    return entry.constants[name]


def client_sizes(run: RunSpec) -> tuple[int, list[int]]:
    """How many training samples are not held out, and how many each client has, in rising order.

    No data are read: the run's partition divides as many labels as the data source declares, each
    class equally frequent.
    """
    from fedbench.data.dataset import Dataset
    from fedbench.data.shares import draw_partition, hold_out  # only here, as it loads torch

    classes, samples = constant(run, "CLASSES"), constant(run, "SAMPLES")[0]
    labels, empty = np.arange(samples) % classes, np.zeros((samples, 1), dtype=np.float32)
    data = Dataset(run.dataset.name, empty, labels, empty[:1], labels[:1], classes)
    train, _ = hold_out(data, run.validation, run.partition_seed)
    rule = registry.build("partition", run.partition.name, run.partition.params)
    rows = draw_partition(rule, data, train, run.clients, run.partition_seed)
    return len(train), sorted(len(of_client) for of_client in rows)


def network(run: RunSpec) -> "nn.Module":
    """The run's network on the meta device: shapes without weights; imports torch."""
    import torch

    from fedbench.data.dataset import Inputs

    inputs = Inputs(tuple(constant(run, "SHAPE")), constant(run, "CLASSES"))
    with torch.device("meta"):
        module: nn.Module = registry.build("model", run.model.name, run.model.params).build(inputs)
    return module.eval()


def added_cost(parts: list[Any], size: "Sizes") -> Counter[str]:
    """The costs that the parts declare beyond FedAvg, added up field by field of `Cost`."""
    from fedbench.core.part import Cost

    total: Counter[str] = Counter(dict.fromkeys(asdict(Cost()), 0))
    for part in parts:
        for name, value in asdict(part.cost(size)).items():
            total[name] += value
    return total

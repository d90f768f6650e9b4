"""The base of tables of facts, which need no run: declared costs, traits, sizes."""

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbench.base import registry
from fedbench.base.checked import Checked
from fedbench.base.errors import FedbenchError, unknown
from fedbench.base.strict import checked
from fedbench.paper.levels import Settings, known_levels, layered, level_settings
from fedbench.paper.paper import Paper
from fedbench.paper.places import Level
from fedbench.plan.printed import Place, Printed
from fedbench.report.tables.sheet import Sheet
from fedbench.spec import Choice, RunSpec

if TYPE_CHECKING:
    from torch import nn

    from fedbench.core.part import Sizes


@dataclass(frozen=True)
class Source:
    """What a fact is made from: the paper as its file says it, and its printed numbers."""

    key: str
    paper: Paper
    printed: Printed
    asked: list[Place] = field(default_factory=list)  # the places looked up so far

    def number(self, dataset: str, metric: str) -> float | None:
        """A printed number of this table; None if the paper prints none."""
        place = Place(self.key, dataset, "", "", metric)
        self.asked.append(place)
        found = self.printed.numbers.get(place)
        return found.mean if found else None

    def run(self, point: dict[str, Level]) -> RunSpec:
        """The run that the paper's settings and these levels amount to."""
        for axis, level in point.items():
            self._check(axis, level)
        levels = [level_settings(self.paper.levels, axis, level) for axis, level in point.items()]
        return RunSpec(**layered([self.paper.settings, *levels]))

    def method(self, name: str) -> tuple[Settings, list[Any]]:
        """A method's settings and its parts, built; imports torch."""
        return self.built("method", name)

    def built(self, axis: str, level: Level) -> tuple[Settings, list[Any]]:
        """The settings of a level of any axis and the parts among them, built; imports torch."""
        self._check(axis, level)
        settings = level_settings(self.paper.levels, axis, level)
        choices = [checked(Choice, part) for part in settings.get("parts", ())]
        return settings, [registry.build("method", part.name, part.params) for part in choices]

    def _check(self, axis: str, level: Level) -> None:
        known = known_levels(axis, self.paper.levels)
        if known is None and axis not in RunSpec.model_fields:
            axes = [*self.paper.levels, *RunSpec.model_fields]
            raise FedbenchError(f"facts.{self.key}: {unknown('axis', axis, axes)}")
        if known is not None and level not in known and "each" not in known:
            raise FedbenchError(f"facts.{self.key}: {unknown(axis, level, map(str, known))}")


class Fact(Checked, ABC):
    """A table without runs; one file in `fedbench/report/facts`, whose fields are its options."""

    @abstractmethod
    def sheet(self, source: Source) -> Sheet:
        """The table, of the paper's own experiments whatever the scale."""


def sheet_of(key: str, paper: Paper, printed: Printed) -> Sheet:
    """The table `key` of a paper; raises on a printed number that it has no place for."""
    choice = paper.facts[key].kind
    fact: Fact = registry.build("facts", choice.name, choice.params)
    source = Source(key, paper, printed)
    found = fact.sheet(source)
    printed.refuse_strangers(key, source.asked)
    return found


def constant(run: RunSpec, name: str) -> Any:
    """What the run's data source declares; raises `FedbenchError` if it does not."""
    found = registry.find("dataset", run.dataset.name)
    if name not in found.constants:
        raise FedbenchError(f"data set '{run.dataset.name}' declares no {name}")
    return found.constants[name]


def shares(run: RunSpec) -> tuple[int, list[int]]:
    """Training samples that are not held out, and those of each client, the smallest first.

    By the run's partition, of as many labels as the source declares, equally frequent.
    """
    from fedbench.data.dataset import Dataset
    from fedbench.data.shares import draw_partition, hold_out  # only here, as it loads torch

    classes, samples = constant(run, "CLASSES"), constant(run, "SAMPLES")[0]
    labels, empty = np.arange(samples) % classes, np.zeros((samples, 1), dtype=np.float32)
    data = Dataset(run.dataset.name, empty, labels, empty[:1], labels[:1], classes)
    train, _ = hold_out(data, run.validation, run.partition_seed)
    rule = registry.build("partition", run.partition.name, run.partition.params)
    rows = draw_partition(rule, data, train, run.clients, run.partition_seed)
    return len(train), sorted(len(own) for own in rows)


def network(run: RunSpec) -> "nn.Module":
    """The run's network without weights or data; imports torch."""
    import torch

    from fedbench.data.dataset import Inputs

    inputs = Inputs(tuple(constant(run, "SHAPE")), constant(run, "CLASSES"))
    with torch.device("meta"):
        module: nn.Module = registry.build("model", run.model.name, run.model.params).build(inputs)
    return module.eval()


def added_cost(parts: list[Any], size: "Sizes") -> Counter[str]:
    """What the parts declare beyond FedAvg, added up by the names in `Cost`; imports torch."""
    from fedbench.core.part import Cost

    total: Counter[str] = Counter(dict.fromkeys(asdict(Cost()), 0))
    for part in parts:
        for name, value in asdict(part.cost(size)).items():
            total[name] += value
    return total

"""How a data set is divided over clients, in numbers and in words."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fedbench.base import registry
from fedbench.base.errors import FedbenchError
from fedbench.data import skew_metrics
from fedbench.data.dataset import Dataset
from fedbench.data.partition import Indices, Partition, divide, held, label_counts
from fedbench.engine.assemble import data_of
from fedbench.paper.yaml_notation import level_text
from fedbench.report.values.numbers import axis_name
from fedbench.spec import RunSpec


@dataclass(frozen=True)
class Preview:
    """How the data are divided in a run of `spec`."""

    spec: RunSpec
    counts: Indices  # samples of each class on each client (clients, classes)
    samples: int  # for training, held-out ones included
    held_out: int  # for validation
    held: int  # by clients, each sample once

    @property
    def title(self) -> str:
        """The rule with its first number and what differs from the defaults: 'DL(α=0.1)'."""
        entry = registry.find("partition", self.spec.partition.name)
        values = {k: self.spec.partition.params.get(k, usual) for k, usual in entry.fields.items()}
        inner = [
            f"{axis_name(k)}={level_text(v) if isinstance(v, float) else v}"
            for place, (k, v) in enumerate(values.items())
            if v != entry.fields[k] or (place == 0 and type(v) in (int, float))
        ]
        return entry.attribute + (f"({', '.join(inner)})" if inner else "")

    @property
    def heading(self) -> str:
        """What this partition has in common with others of the same data."""
        spec = self.spec
        parts = [str(spec.dataset), f"{spec.clients} clients", f"seed {spec.partition_seed}"]
        return ", ".join(parts + [f"{spec.validation:.0%} held out"] * bool(self.held_out))

    def facts(self) -> dict[str, Any]:
        """Plain numbers: settings, samples, sizes, classes, skew and the counts themselves."""
        sizes = _range(self.counts.sum(axis=1))
        effective = float(skew_metrics.effective_classes(self.counts).mean())
        return {
            **self.spec.model_dump(include={"dataset", "partition", "clients", "validation"}),
            "seed": self.spec.partition_seed,
            "samples": self.samples,
            "held_out": self.held_out,
            "unused": self.samples - self.held_out - self.held,
            "shared": int(self.counts.sum()) - self.held,  # 0 unless clients overlap
            "sizes": sizes | {"spread": skew_metrics.size_spread(self.counts)},
            "classes": _range((self.counts > 0).sum(axis=1)) | {"effective": effective},
            "skew": {
                "to_all": skew_metrics.label_skew(self.counts),
                "pairwise": skew_metrics.pairwise_skew(self.counts),
                "jensen_shannon_bits": skew_metrics.label_divergence(self.counts),
            },
            "counts": self.counts.tolist(),
        }

    def words(self) -> dict[str, str]:
        """The same numbers in words, for a column of a table."""
        facts = self.facts()
        found, unused, shared = facts["skew"], facts["unused"], facts["shared"]
        divided = self.samples - self.held_out
        return {
            "training samples": f"{self.samples:,}",
            "held out": f"{self.held_out:,} ({self.held_out / self.samples:.1%})",
            "unused": f"{unused:,} ({unused / divided:.1%})",
            **({"held again by others": f"{shared:,}"} if shared else {}),
            "samples per client": _spelled(facts["sizes"]),
            "their spread, std / mean": f"{facts['sizes']['spread']:.2f}",
            "classes per client": _spelled(facts["classes"]),
            "effective classes": f"{facts['classes']['effective']:.2f}",
            "skew: TV to all labels": f"{found['to_all']:.3f}",
            "skew: TV of two clients": f"{found['pairwise']:.3f}",
            "skew: Jensen–Shannon": f"{found['jensen_shannon_bits']:.3f} bits",
        }


def previews(
    spec: RunSpec, rules: Iterable[Any], params: dict[str, Any], folder: Path | None
) -> list[Preview]:
    """A preview of each partition in `rules`, given as in YAML; `params` are added to each."""
    named = [spec.changed(partition=rule).partition for rule in rules]
    chosen = [spec.changed(partition={rule.name: rule.params | params}) for rule in named]
    data = data_of(spec, folder)
    return [preview(data, each) for each in chosen]


def preview(data: Dataset, spec: RunSpec) -> Preview:
    """Divide the data as a run of `spec` would; raises `FedbenchError` where the run would."""
    if not data.classes:
        raise FedbenchError(f"{data.name}: its labels are no classes, so there is no skew to show")
    rule: Partition = spec.partition.build("partition")
    _, held_out, rows = divide(data, rule, spec.validation, spec.clients, spec.partition_seed)
    counts = label_counts(data.y_train, rows, data.classes)
    return Preview(spec, counts, len(data.y_train), len(held_out), held(rows))


def _range(values: Indices) -> dict[str, float]:
    extent = {"min": values.min(), "median": np.median(values), "max": values.max()}
    return {name: float(value) for name, value in extent.items()}


def _spelled(extent: dict[str, float]) -> str:
    low, middle, high = (f"{extent[name]:,.6g}" for name in ("min", "median", "max"))
    return low if low == high else f"{low}–{high}, median {middle}"

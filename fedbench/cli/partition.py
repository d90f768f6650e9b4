"""The command `partition`: how a data set is divided over clients, without training."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedbench.base import registry
from fedbench.base.errors import FedbenchError
from fedbench.base.yamlfile import parse, read_value
from fedbench.cli import options
from fedbench.cli.app import Panel, app, console, print_json, table_of

if TYPE_CHECKING:  # other commands must not wait for what this one needs
    import numpy as np
    from numpy.typing import NDArray

    from fedbench.data.dataset import Dataset
    from fedbench.spec import RunSpec

_SYMBOLS = {"alpha": "α", "delta": "δ"}
_RULES = (
    "A partition's name, or with parameters dl:alpha=0.1; several are shown side by side. "
    "Example: fedbench partition dp --set delta=0.3 --dataset cifar10 --clients 100 --out dp.png"
)
_SET = "parameter=value, for every partition named; may be given several times."
_SEED = "Seed of the split: a run's data_seed, or its seed if it has no data_seed."
_HELD_OUT = "Share of the training data that is held out, from 0 to 1."
_OUT = "Picture to write: .png, .pdf or .svg."
_FIRST = "Show only this many clients in the picture."


@app.command(rich_help_panel=Panel.runs)
def partition(
    rules: Annotated[list[str], typer.Argument(help=_RULES)],
    settings: Annotated[list[str] | None, typer.Option("--set", help=_SET)] = None,
    dataset: Annotated[str, typer.Option(help=options.DATA_SET)] = "digits",
    clients: Annotated[int, typer.Option(help="Number of clients.")] = 10,
    seed: Annotated[int, typer.Option(help=_SEED)] = 0,
    validation: Annotated[float, typer.Option(help=_HELD_OUT)] = 0.0,
    out: Annotated[Path | None, typer.Option(help=_OUT)] = None,
    first: Annotated[int | None, typer.Option(min=1, help=_FIRST)] = None,
    as_json: options.AsJson = False,
    data_dir: options.DataFolder = None,
) -> None:
    """Show how a data set is divided over clients: the same split that a run would train on.

    Skew says how far clients' label distributions differ: the mean total variation (TV, 0 to 1)
    between a client and all data, and between two clients, and the Jensen–Shannon divergence of all
    clients. A client has 2^H effective classes, where H is the entropy of its labels in bits.
    """
    from fedbench.spec import RunSpec

    base = {"dataset": read_value(dataset), "clients": clients, "validation": validation}
    chosen = [read_value(rule) for rule in rules]
    splits = previews(RunSpec(**base, seed=seed), chosen, parse(settings or []), data_dir)
    if out:
        from fedbench.report.figures.save import write
        from fedbench.report.kinds.bars import draw_partitions

        panels = [(each.title, each.counts) for each in splits]
        drawn = write(lambda: draw_partitions(panels, splits[0].heading, first), out)
        if drawn.missing_letters and out.suffix != ".svg":
            lost = f"boxes for {drawn.missing_letters}: no font installed has them"
            typer.echo(f"{out}: {lost}", err=True)
    if as_json:
        print_json([each.facts() for each in splits])
        return
    words = {each.title: each.words() for each in splits}
    lines = dict.fromkeys(line for each in words.values() for line in each)
    texts = [{"": x} | {title: each.get(x, "0") for title, each in words.items()} for x in lines]
    console.print(table_of(texts))


@dataclass(frozen=True)
class Preview:
    """How the data are divided in a run of `spec`."""

    spec: "RunSpec"
    counts: "NDArray[np.int64]"  # samples of each class on each client (clients, classes)
    samples: int  # for training, held-out ones included
    held_out: int  # for validation
    held: int  # by clients, each sample once

    @property
    def title(self) -> str:
        """The rule with its first number and what differs from the defaults: 'DL(α=0.1)'."""
        from fedbench.paper.notation import level_text

        entry = registry.find("partition", self.spec.partition.name)
        values = {k: self.spec.partition.params.get(k, usual) for k, usual in entry.fields.items()}
        inner = [
            f"{_SYMBOLS.get(k, k)}={level_text(v) if isinstance(v, float) else v}"
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
        from fedbench.data import skew

        # held twice and more: 0 unless clients overlap
        unused, shared = (
            self.samples - self.held_out - self.held,
            int(self.counts.sum()) - self.held,
        )
        sizes = _range(skew.client_sizes(self.counts))
        effective = float(skew.effective_classes(self.counts).mean())
        return {
            **self.spec.model_dump(include={"dataset", "partition", "clients", "validation"}),
            "seed": self.spec.partition_seed,
            "samples": self.samples,
            "held_out": self.held_out,
            "unused": unused,
            "shared": shared,
            "sizes": sizes | {"spread": skew.size_spread(self.counts)},
            "classes": _range(skew.classes_held(self.counts)) | {"effective": effective},
            "skew": {
                "to_all": skew.label_skew(self.counts),
                "pairwise": skew.pairwise_skew(self.counts),
                "jensen_shannon_bits": skew.label_divergence(self.counts),
            },
            "counts": self.counts.tolist(),
        }

    def words(self) -> dict[str, str]:
        """The same numbers in words, for a column of a table."""
        facts = self.facts()
        skew, unused, shared = facts["skew"], facts["unused"], facts["shared"]
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
            "skew: TV to all labels": f"{skew['to_all']:.3f}",
            "skew: TV of two clients": f"{skew['pairwise']:.3f}",
            "skew: Jensen–Shannon": f"{skew['jensen_shannon_bits']:.3f} bits",
        }


def previews(
    spec: "RunSpec", rules: Iterable[Any], params: dict[str, Any], folder: Path | None
) -> list[Preview]:
    """A preview of each partition in `rules`, given as in YAML; `params` are added to each."""
    from fedbench.engine.build import data_of

    named = [spec.changed(partition=rule).partition for rule in rules]
    chosen = [spec.changed(partition={rule.name: rule.params | params}) for rule in named]
    data = data_of(spec, folder)
    return [preview(data, each) for each in chosen]


def preview(data: "Dataset", spec: "RunSpec") -> Preview:
    """Divide the data as a run of `spec` would; raises `FedbenchError` where the run would."""
    import numpy as np

    from fedbench.data import skew
    from fedbench.data.shares import draw_partition, held, hold_out

    if not data.classes:
        raise FedbenchError(f"{data.name}: its labels are no classes, so there is no skew to show")
    train, held_out = hold_out(data, spec.validation, spec.partition_seed)
    rule = registry.build("partition", spec.partition.name, spec.partition.params)
    rows = draw_partition(rule, data, train, spec.clients, spec.partition_seed)
    counts = skew.label_counts(data.y_train.astype(np.int64, copy=False), rows, data.classes)
    return Preview(spec, counts, len(data.y_train), len(held_out), held(rows))


def _range(values: "NDArray[np.int64]") -> dict[str, float]:
    import numpy as np

    extent = {"min": values.min(), "median": np.median(values), "max": values.max()}
    return {name: float(value) for name, value in extent.items()}


def _spelled(extent: dict[str, float]) -> str:
    low, middle, high = (f"{extent[name]:,.6g}" for name in ("min", "median", "max"))
    return low if low == high else f"{low}–{high}, median {middle}"

"""What all runs behind a table have in common, and which of its words need to be explained."""

from collections.abc import Iterable
from typing import Any

from fedbench.base import registry
from fedbench.paper.notation import reading
from fedbench.report.pages.items import TableOnPage
from fedbench.sampling.sampler import cohort_size
from fedbench.spec import Choice, RunSpec

EXPLAINED = ("client_worst",)  # columns whose label alone does not say what is measured
_SYMBOLS = ("δ", "α")  # of how alike the clients' data are


def conditions(runs: Iterable[RunSpec]) -> dict[str, Any]:
    """The settings that all of the runs share, by name, and their number of seeds.

    dataset, model, clients, cohort and how many of these `local` steps or epochs, batch (0: all
    data of a client), rounds. Empty if they share none.
    """
    specs = list(runs)
    told = [_told(spec) for spec in specs]
    first = told[0] if told else {}
    shared = {name: x for name, x in first.items() if all(other[name] == x for other in told)}
    return shared | {"seeds": len({spec.seed for spec in specs})} if shared else {}


def _told(run: RunSpec) -> dict[str, Any]:
    """What is told of a run; where each client is drawn by itself a cohort is `about` its size."""
    local = ("step", run.steps) if run.steps else ("epoch", run.local_epochs or 1)
    return {
        "dataset": _class("dataset", run.dataset),
        "model": _class("model", run.model),
        "clients": run.clients,
        "cohort": {
            "size": cohort_size(run.clients, run.participation),
            "about": run.sampler.name == "bernoulli",
        },
        "local": {"unit": local[0], "number": local[1]},
        "batch": run.batch or 0,
        "rounds": run.rounds,
    }


def _class(kind: str, chosen: Choice) -> str:
    """The name of the class, written as in papers: 'LeNet5' of lenet5, 'CIFAR10' of cifar10."""
    return registry.find(kind, chosen.name).attribute


def explained(item: TableOnPage) -> list[str]:
    """The metrics of the table that a sentence explains."""
    columns = dict.fromkeys(reading(name).metric for name in item.table.metrics)
    return [name for name in columns if name in EXPLAINED]


def skews(item: TableOnPage) -> list[str]:
    """The symbols above, beside and between the numbers that say how alike clients' data are."""
    layout = item.layout
    texts = [*layout.heads, *(group.title for group in layout.groups)]
    texts += [column.label for block in layout.blocks for column in block.columns]
    texts += [text for g in layout.groups for row in g.rows for text, _ in row.heads]
    return [symbol for symbol in _SYMBOLS if any(symbol in text for text in texts)]

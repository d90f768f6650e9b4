"""What all runs behind a table have in common, and what its words mean, for who reads it alone."""

from collections.abc import Iterable, Iterator

from fedbench.base import registry
from fedbench.paper.places import reading
from fedbench.report.pages.items import TableOnPage
from fedbench.sampling.sampler import cohort_size
from fedbench.spec import Choice, RunSpec

_METRICS = {  # columns whose label alone does not say what is measured
    "client_worst": (
        "At a client the global model is scored on test data with the class shares of the "
        "client's own training data; the worst tenth are the clients with the lowest such accuracy."
    ),
}
_SKEW = "{}: how alike the clients' data are; the smaller, the more the clients differ."
_SYMBOLS = ("δ", "α")


def conditions(runs: Iterable[RunSpec]) -> tuple[str, ...]:
    """'data set CIFAR10', '100 clients', '10 clients per round', …: what all of the runs share."""
    specs = list(runs)
    told = [[*_told(spec)] for spec in specs]
    shared = [words for words in told[0] if all(words in other for other in told)] if told else []
    seeds = len({spec.seed for spec in specs})
    return (*shared, _several(seeds, "seed")) if shared else ()


def _told(run: RunSpec) -> Iterator[str]:
    yield f"data set {_class('dataset', run.dataset)}"
    yield f"network {_class('model', run.model)}"
    yield _several(run.clients, "client")
    yield _per_round(run)
    yield (
        _several(run.steps, "local step")
        if run.steps
        else _several(run.local_epochs or 1, "local epoch")
    )
    yield f"batches of {run.batch}" if run.batch else "all data of a client in one batch"
    yield _several(run.rounds, "round")


def _class(kind: str, chosen: Choice) -> str:
    """The name of the class, written as in papers: 'LeNet5' of lenet5, 'CIFAR10' of cifar10."""
    return registry.find(kind, chosen.name).attribute


def _per_round(run: RunSpec) -> str:
    """The cohort's size; with a sampler that draws each client by itself, the mean size."""
    size = cohort_size(run.clients, run.participation)
    about = "about " if run.sampler.name == "bernoulli" else ""
    return f"{about}{size} of them per round"


def _several(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def meanings(item: TableOnPage) -> tuple[str, ...]:
    """A sentence on each metric and each axis of the table that needs one."""
    columns = dict.fromkeys(reading(name).metric for name in item.table.metrics)
    metrics = [_METRICS[name] for name in columns if name in _METRICS]
    symbols = [symbol for symbol in _SYMBOLS if symbol in _headings(item)]
    return (*metrics, *([_SKEW.format(" and ".join(symbols))] if symbols else []))


def _headings(item: TableOnPage) -> str:
    """Everything that stands above, beside and between the numbers."""
    layout = item.layout
    texts = [*layout.heads, *(group.title for group in layout.groups)]
    texts += [column.label for block in layout.blocks for column in block.columns]
    texts += [text for g in layout.groups for row in g.rows for text, _ in row.heads]
    return " ".join(texts)

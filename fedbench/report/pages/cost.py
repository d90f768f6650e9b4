"""What a method costs beyond FedAvg, in words, from what its parts declare."""

from collections import Counter
from collections.abc import Iterable, Iterator

from fedbench.base import registry
from fedbench.report.tables.fact import added_cost
from fedbench.spec import Choice

_MOVED = {
    "down": "more sent to each client",
    "up": "more sent by each client",
    "client_memory": "stored at each client",
    "server_memory": "stored at the server",
}
_OPERATIONS = {
    "per client and round": ("ops_begin", "ops_end", "ops_receive"),
    "per local step": ("ops_step",),
    "per round at the server": ("ops_server", "ops_maintain"),
}
_FEW = 0.02  # of a model: numbers beside whole models, such as label counts, are told as they are


def in_words(parts: Iterable[Choice]) -> tuple[str, ...]:
    """'1 model stored at the server', …, for a federation of usual size.

    Imports torch, unless there are no parts: FedAvg costs nothing beyond itself.
    """
    choices = tuple(parts)
    if not choices:
        return ()
    from fedbench.core.part import USUAL

    built = [registry.build("method", part.name, part.params) for part in choices]
    cost = added_cost(built, USUAL)
    moved = [f"{_models(cost[name], USUAL.d)} {how}" for name, how in _MOVED.items() if cost[name]]
    return (*moved, *_passes(cost), *_operations(cost))


def _models(numbers: float, size: int) -> str:
    """'2 models', '110 numbers', '1 model and 10 numbers', '0.73 models'."""
    whole = round(numbers / size)
    rest = numbers - whole * size
    if abs(rest) > _FEW * size or rest < 0:
        return f"{numbers / size:.2g} models"
    told = [_several(whole, "model")] if whole else []
    return " and ".join(told + ([_several(rest, "number")] if rest else []))


def _passes(cost: Counter[str]) -> Iterator[str]:
    for way in ("forward", "backward"):
        if cost[way]:
            more = f"{_several(cost[way], f'more {way} pass', 'es')} per sample"
            taught = cost["teachers"] if way == "forward" else 0
            whose = "a teacher" if taught == 1 else "teachers"
            yield f"{more}, {taught:g} through {whose}" if taught else more


def _operations(cost: Counter[str]) -> Iterator[str]:
    for when, names in _OPERATIONS.items():
        if count := sum(cost[name] for name in names):
            yield f"{_several(count, 'more vector operation')} {when}"


def _several(count: float, word: str, ending: str = "s") -> str:
    return f"{count:g} {word}{'' if count == 1 else ending}"

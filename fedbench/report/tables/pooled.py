"""The standard deviation over seeds, pooled over cells; that of a few seeds alone says little."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Pooled:
    """√(Σ (nᵢ − 1) sᵢ² / Σ (nᵢ − 1)) over `cells` cells, cell i of nᵢ seeds with deviation sᵢ.

    `freedom` is Σ (nᵢ − 1), the degrees of freedom.
    """

    std: float
    freedom: int
    cells: int


def pool(spreads: Iterable[tuple[Key, float, int]]) -> Mapping[Key, Pooled]:
    """What the cells of each key have together; nothing for a key with a single cell.

    spreads: of each cell its key, its standard deviation and its number of seeds, at least 2.
    """
    groups: dict[Key, list[tuple[float, int]]] = {}
    for key, std, seeds in spreads:
        groups.setdefault(key, []).append((std, seeds - 1))
    return {key: _pooled(group) for key, group in groups.items() if len(group) > 1}


def _pooled(cells: list[tuple[float, int]]) -> Pooled:
    freedom = sum(free for _, free in cells)
    return Pooled(sqrt(sum(free * std**2 for std, free in cells) / freedom), freedom, len(cells))

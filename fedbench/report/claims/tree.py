"""A claim as comparisons in cells, and of how many each must hold.

Partial conjunction (Benjamini and Heller, Biometrics 2008). That at least k of n statements hold is
said wrongly with a probability of α at most, if each of them is said to hold with a risk of
α / (n − k + 1): of statements that are wrong, so many at least, one must have been taken for right.
All of n: each at α, an intersection–union test; one of n: α / n, Bonferroni. That it fails says
that n − k + 1 of them fail, hence each with a risk of α / k. Nothing is asked of how they depend on
each other. Nested statements divide the risk of the one above. n is what the claim names in the
paper's grid: a comparison that was not run is undecided, and never makes the others easier.

A claim is either true or not, so one of its two verdicts can be wrong: 5 % each way is 5 % in all.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Union

from fedbench.report.claims.contrast import Averaged, Contrast
from fedbench.report.claims.limit import Not, Risks, Verdict, at_least


@dataclass(frozen=True, eq=False)
class Node:
    """At least `k` of the parts hold; `label` is what they share."""

    k: int
    parts: tuple[Union["Node", Contrast], ...]
    label: str = ""

    @property
    def nodes(self) -> tuple["Node", ...]:
        """The parts that are nodes: the cells of a whole claim."""
        return tuple(part for part in self.parts if isinstance(part, Node))

    def risks(self, whole: Risks) -> Iterator[tuple[Contrast, Risks]]:
        """Each comparison with its share of the risk."""
        own = whole.each(self.k, len(self.parts))
        for part in self.parts:
            yield from part.risks(own) if isinstance(part, Node) else ((part, own),)

    def judge(self, of: Callable[[Contrast], Verdict]) -> Verdict:
        """The verdict that follows from those of the comparisons."""
        found = [part.judge(of) if isinstance(part, Node) else of(part) for part in self.parts]
        return at_least(self.k, found)

    @property
    def denied(self) -> "Node":
        """That it does not hold: fewer than k hold where n − k + 1 of the n fail."""
        fewest = len(self.parts) - self.k + 1
        return Node(fewest, tuple(_denied(part) for part in self.parts), self.label)

    def contrasts(self) -> Iterator[Contrast]:
        """All comparisons, in order."""
        for part in self.parts:
            yield from part.contrasts() if isinstance(part, Node) else (part,)


def each(parts: Sequence[Node | Contrast], label: str = "") -> Node:
    """All of the parts."""
    return Node(len(parts), tuple(parts), label)


def _denied(part: Node | Contrast) -> Node | Contrast:
    if isinstance(part, Node):
        return part.denied
    return replace(part, label=f"not: {part.label}", limit=Not(part.limit))


def averaged(cells: list[Node]) -> Node:
    """One cell with the mean of the others; they have the same shape."""
    return Node(cells[0].k, _averaged([cell.parts for cell in cells]), f"mean of {len(cells)}")


def _averaged(rows: list[tuple[Node | Contrast, ...]]) -> tuple[Node | Contrast, ...]:
    return tuple(_average(list(same)) for same in zip(*rows, strict=True))


def _average(same: list[Node | Contrast]) -> Node | Contrast:
    first = same[0]
    if isinstance(first, Node):
        return Node(first.k, _averaged([node.parts for node in same if isinstance(node, Node)]))
    own = tuple(x for x in same if isinstance(x, Contrast))
    return Averaged(first.label, first.unit, first.limit, own)

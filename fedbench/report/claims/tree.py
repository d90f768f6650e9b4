"""A claim as a tree: at least k of n parts must hold; a part is a comparison or again such a tree.

The rule is partial conjunction (Benjamini and Heller, Biometrics 2008). 'At least k of n statements
hold' is said wrongly with a probability of at most α if each statement is called right with a risk
of α / (n − k + 1). For if fewer than k are right, at least n − k + 1 are wrong, and one of these
must have been called right. If all n must hold, each has the risk α (an intersection–union test);
if one of n is enough, α / n (Bonferroni). That it fails means that at least n − k + 1 of the
statements fail, so that each is called wrong with a risk of α / k. The statements may depend on
each other in any way. A part that itself has parts divides its risk among them by the same rule. n
counts all that the claim names in the paper's grid: a comparison that was not run is undecided, and
never makes it easier for the others.

Each verdict has half of the 5 % of a two-sided test, so that a single comparison is decided where
its 95 % confidence interval leaves the limit out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Union

from fedbench.report.claims.comparison import Averaged, Comparison
from fedbench.report.claims.limits import Not, Risks, Verdict, at_least


@dataclass(frozen=True, eq=False)
class Node:
    """The statement that at least `k` of its parts hold; `label` names what the parts share."""

    k: int
    parts: tuple[Union["Node", Comparison], ...] = field(repr=False)
    label: str = ""

    @property
    def nodes(self) -> tuple["Node", ...]:
        """The parts that are nodes: the cells of a whole claim."""
        return tuple(part for part in self.parts if isinstance(part, Node))

    def risks(self, whole: Risks) -> Iterator[tuple[Comparison, Risks]]:
        """Each comparison with its share of the whole risk."""
        share = whole.each(self.k, len(self.parts))
        for part in self.parts:
            yield from part.risks(share) if isinstance(part, Node) else ((part, share),)

    def judge(self, of: Callable[[Comparison], Verdict]) -> Verdict:
        """The verdict on the node, which follows from the verdicts `of` the comparisons."""
        verdicts = [part.judge(of) if isinstance(part, Node) else of(part) for part in self.parts]
        return at_least(self.k, verdicts)

    @property
    def denied(self) -> "Node":
        """The statement that this one does not hold: at least n − k + 1 of its n parts fail."""
        fewest = len(self.parts) - self.k + 1
        return Node(fewest, tuple(_denied(part) for part in self.parts), self.label)

    def comparisons(self) -> Iterator[Comparison]:
        """All comparisons, in order."""
        for part in self.parts:
            yield from part.comparisons() if isinstance(part, Node) else (part,)


def each(parts: Sequence[Node | Comparison], label: str = "") -> Node:
    """The statement that all of the parts hold."""
    return Node(len(parts), tuple(parts), label)


def _denied(part: Node | Comparison) -> Node | Comparison:
    if isinstance(part, Node):
        return part.denied
    return replace(part, label=f"not: {part.label}", limit=Not(part.limit))


def averaged(cells: list[Node]) -> Node:
    """One cell that compares the means over these cells; all have the same shape."""
    return Node(cells[0].k, _averaged([cell.parts for cell in cells]), f"mean of {len(cells)}")


def _averaged(rows: list[tuple[Node | Comparison, ...]]) -> tuple[Node | Comparison, ...]:
    return tuple(_average(list(same)) for same in zip(*rows, strict=True))


def _average(same: list[Node | Comparison]) -> Node | Comparison:
    first = same[0]
    if isinstance(first, Node):
        return Node(first.k, _averaged([node.parts for node in same if isinstance(node, Node)]))
    comparisons = tuple(x for x in same if isinstance(x, Comparison))
    labels = list(dict.fromkeys(x.label for x in comparisons))
    label = labels[0] if len(labels) == 1 else f"{labels[0]} … {labels[-1]}"
    return Averaged(label, first.unit, first.limit, comparisons)

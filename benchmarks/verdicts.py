"""How often are verdicts on claims wrong, or missing? Judges made-up papers with a known truth.

    python benchmarks/verdicts.py [--papers 1000]

Each line is a claim, as in a paper's YAML, on a grid of nine data sets and five methods, judged as
`fedbench` judges claims. The values of the runs are drawn anew for each made-up paper: a seed
shifts all methods equally (standard deviation 3 points), and each run has a normal error of 1
point. 'At the limit' means that the true effect lies exactly between the claim being true and being
false, where errors are most likely.

The columns say how often, in percent, the claim held and failed, with 3, 5 and 10 seeds. 'Before'
uses two-sided 95 % intervals with Bonferroni's correction over all comparisons; 'after' is the rule
of `fedbench`, partial conjunction. Where the truth is 'no', holding is an error; where it is 'yes',
failing is; at the limit neither may exceed 2.5 %. The last lines violate the assumptions of the
tests: errors with heavy tails, and a loser or a winner that collapses in one of ten runs.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from typing_extensions import override

from fedbench.paper.paper import Paper
from fedbench.report.claims.compared_sides import Coords
from fedbench.report.claims.comparison_tree import Node, expand
from fedbench.report.claims.comparisons import Comparison
from fedbench.report.claims.evidence import PrintedNumbers, Repeats
from fedbench.report.claims.judge import ERROR_RATES
from fedbench.report.claims.tests import ErrorRates, Verdict

SETS = tuple(f"set {i}" for i in range(9))
METHODS = ("A", "B", "C", "D", "E")
SEEDS = (3, 5, 10)
RULES = ("before", "after")
LARGE = 100.0  # points: an effect that no number of seeds can miss
Errors = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
Effects = dict[tuple[str, str], float]  # of a data set and a method; 0 where there is none


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Standard deviation 1."""
    return rng.normal(size=shape)


def heavy(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Student's t with three degrees of freedom."""
    return rng.standard_t(3, size=shape)


@dataclass(frozen=True)
class Setting:
    """A claim, the truth about it, and the runs' expected values and errors.

    `truth`: 'yes', 'no' or 'limit'; `scale`: a method's standard deviation; `shared`: that of the
    shift by which a seed moves all methods; `collapses`: a method that loses 30 points in one of
    ten runs, and gains three in every run, so that its mean stays the same.
    """

    name: str
    claim: dict[str, Any]
    truth: str
    effects: Effects = field(default_factory=dict)
    scale: dict[str, float] = field(default_factory=dict)
    shared: float = 3.0
    errors: Errors = normal
    collapses: str = ""

    @property
    def fits(self) -> bool:
        """Whether its errors are such as the tests assume."""
        return self.errors is normal and not self.collapses

    def tree(self) -> Node:
        """The comparisons that the claim makes."""
        axes = {"dataset": SETS, "method": METHODS}
        levels = {name: {one: {} for one in own} for name, own in axes.items()}
        made = Paper(
            title="Made up",
            authors="Nobody",
            settings={},
            levels=levels,
            grids={"main": {"axes": axes, "seeds": (0,)}},
            tables={},
            claims={"c": {"text": self.name, "grid": "main", **self.claim}},
        )
        return expand("c", made.claims["c"], made)  # type: ignore[arg-type]


class Drawn(PrintedNumbers):
    """The values of one made-up paper."""

    def __init__(self, setting: Setting, seeds: int, rng: np.random.Generator) -> None:
        shape = (len(SETS), len(METHODS), seeds)
        scale = np.array([setting.scale.get(method, 1.0) for method in METHODS])
        drawn = setting.errors(rng, shape) * scale[:, None] + setting.shared * rng.normal(
            size=seeds
        )
        if setting.collapses:
            lost = rng.random((len(SETS), seeds)) < 0.1
            drawn[:, METHODS.index(setting.collapses)] += 3 - 30 * lost
        for (name, method), effect in setting.effects.items():
            drawn[SETS.index(name), METHODS.index(method)] += effect
        self._drawn = drawn

    @override
    def values(self, point: Coords) -> Repeats:
        row = self._drawn[SETS.index(str(point["dataset"])), METHODS.index(str(point["method"]))]
        return {str(seed): float(value) for seed, value in enumerate(row)}


def settings() -> Iterator[Setting]:
    """Claims at their limit, where an error is most likely, and claims that are true or false."""
    greater = {"kind": "greater", "winner": "A", "loser": "B"}
    one = {"where": {"dataset": SETS[0]}}

    def leads(*points: float) -> Effects:
        return {(name, "A"): x for name, x in zip(SETS, points, strict=False)}

    single = greater | one
    yield Setting("A > B, one comparison, at the limit", single, "limit")
    yield Setting("A > B by 2 points of at least 2", single | {"by": 2}, "limit", leads(2))
    yield Setting("A > B, true lead of 4 points", single, "yes", leads(4))
    yield Setting("A > B, B leads by 4 points", single, "no", leads(-4))
    yield Setting("not A > B, at the limit", single | {"negate": True}, "limit")

    yield Setting("every of 9 cells, one at the limit", greater, "limit", leads(0, *[LARGE] * 8))
    yield Setting("every of 9 cells, all at the limit", greater, "limit")
    yield Setting("every of 9 cells, 4 points in each", greater, "yes", leads(*[4] * 9))
    yield Setting("every of 9 cells, 8 points in each", greater, "yes", leads(*[8] * 9))
    yield Setting("every of 9 cells, −8 points in one", greater, "no", leads(-8, *[8] * 8))

    most = greater | {"cells": "most"}
    half = [0.0] * 5 + [LARGE] * 4
    yield Setting("most of 9 cells, 5 at the limit, 4 large", most, "no", leads(*half))
    low = [0.0] * 5 + [-LARGE] * 4
    yield Setting("most of 9 cells, 5 at the limit, 4 lost", most, "yes", leads(*low))
    yield Setting("most of 9 cells, 8 points in 7", most, "yes", leads(*[8] * 7, -8, -8))
    yield Setting("most of 9 cells, −8 points in 7", most, "no", leads(*[-8] * 7, 8, 8))
    yield Setting("in one of 9 cells, all at the limit", greater | {"cells": 1}, "limit")
    yield Setting("in one of 9 cells, 8 points in 2", greater | {"cells": 1}, "yes", leads(8, 8))
    yield Setting("mean of 9 cells, at the limit", greater | {"cells": "mean"}, "limit")
    yield Setting("not in every of 9 cells, at the limit", greater | {"negate": True}, "limit")

    best = {"kind": "greater", "winner": "A", "loser": "others"} | one
    behind = {(SETS[0], method): -LARGE for method in "CDE"}
    yield Setting("best of 5, one rival level", best, "limit", behind)
    yield Setting("best of 5 by 8 points", best, "yes", leads(8))
    second = best | {"place": 2}
    ahead = {(SETS[0], "B"): LARGE, (SETS[0], "D"): -LARGE, (SETS[0], "E"): -LARGE}
    yield Setting("among the best 2 of 5, one ahead, one level", second, "limit", ahead)
    yield Setting("among the best 2 of 5, all level", second, "limit")
    either = best | {"winner": ["A", "B"], "loser": ["C", "D", "E"], "winners": "one"}
    yield Setting("A or B before C, D and E, all level", either, "limit")

    equal = {"kind": "equal", "of": "A", "to": "B", "margin": 4} | one
    yield Setting("equal within 4, at the margin", equal, "limit", leads(4))
    yield Setting("equal within 0.1, no difference", equal | {"margin": 0.1}, "yes")
    yield Setting("equal within 4, no difference", equal, "yes")
    yield Setting("equal within 4, 12 points apart", equal, "no", leads(12))

    spread = {"kind": "spread", "winner": "A", "loser": "B"} | one
    yield Setting("steadier, at the limit", spread, "limit")
    yield Setting("steadier, a quarter of the spread", spread, "yes", scale={"A": 0.25}, shared=0)

    along = {"kind": "trend", "along": {"method": list(METHODS)}} | one
    steps = {(SETS[0], method): LARGE * min(i, 3) for i, method in enumerate(METHODS)}
    rise = {(SETS[0], method): 6.0 * i for i, method in enumerate(METHODS)}
    yield Setting("rises at each of 4 steps, one level", along, "limit", steps)
    yield Setting("rises at each of 4 steps, 6 points each", along, "yes", rise)
    yield Setting("rises overall, at the limit", along | {"steps": "overall"}, "limit")

    yield Setting("heavy tails: A > B, at the limit", single, "limit", errors=heavy)
    yield Setting("the loser collapses: at the limit", single, "limit", collapses="B")
    yield Setting("the winner collapses: at the limit", single, "limit", collapses="A")


def before(tree: Node) -> dict[Comparison, ErrorRates]:
    """Two-sided intervals that cover 95 % together: Bonferroni."""
    comparisons = list(tree.comparisons())
    each = 0.025 / len(comparisons)
    return {c: ErrorRates(each, 2 * each if c.limit.is_margin else each) for c in comparisons}


def rates(setting: Setting, seeds: int, papers: int) -> dict[str, tuple[float, float]]:
    """How often the claim held and failed, by rule."""
    tree, rng = setting.tree(), np.random.default_rng(seeds)
    rules = {"before": before(tree), "after": dict(tree.error_rates(ERROR_RATES))}
    counts = {rule: dict.fromkeys(Verdict, 0) for rule in rules}
    for _ in range(papers):
        numbers = Drawn(setting, seeds, rng)
        found = {comparison: comparison.measured(numbers) for comparison in tree.comparisons()}
        for rule, share in rules.items():
            verdicts = {c: c.limit.verdict(estimate, share[c]) for c, estimate in found.items()}
            counts[rule][tree.judge(verdicts)] += 1
    return {
        rule: (count[Verdict.HOLDS] / papers, count[Verdict.FAILS] / papers)
        for rule, count in counts.items()
    }


def wrong(setting: Setting, held: float, failed: float) -> float:
    """The larger rate of an error."""
    return max({"yes": [failed], "no": [held], "limit": [held, failed]}[setting.truth])


def line(setting: Setting, papers: int) -> tuple[str, float]:
    """Held and failed before and after, for each number of seeds; the largest error after."""
    by_seeds = [rates(setting, seeds, papers) for seeds in SEEDS]
    cells = [" ".join(f"{100 * x:.1f}" for x in rate[rule]) for rate in by_seeds for rule in RULES]
    worst = max(wrong(setting, *rate["after"]) for rate in by_seeds)
    return f"| {setting.name} | {setting.truth} | " + " | ".join(cells) + " |", worst


def main() -> None:
    """Print the table, each line as soon as it is computed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--papers", type=int, default=1000)
    papers = parser.parse_args().papers
    heads = [f"{n} seeds, {rule}" for n in SEEDS for rule in RULES]
    print("| claim | true | " + " | ".join(heads) + " |")
    print("|---|---|" + "---|" * len(heads))
    worst = 0.0
    for setting in settings():
        text, error = line(setting, papers)
        worst = max(worst, error) if setting.fits else worst
        print(text, flush=True)
    slack = 3 * (0.025 * 0.975 / papers) ** 0.5
    print(
        f"\nLargest error within the assumptions: {100 * worst:.1f} %; at most 2.5 % is asked for,"
    )
    print(
        f"and {papers} papers tell it from 2.5 % to {100 * slack:.1f} points (three standard "
        "errors)."
    )


if __name__ == "__main__":
    main()

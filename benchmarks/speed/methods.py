"""Each named method's time over FedAvg's, beside what its declared passes would lead one to expect.

A forward pass counts 1 and a backward pass 2, so that a step of FedAvg counts 3.
"""

from collections.abc import Iterator, Sequence

from fedbench import Cost, RunSpec, Sizes
from fedbench.engine.build import build_parts
from fedbench.paper.compositions import Composition, compositions
from speed.commands import ours
from speed.process import MeasurementError, measure
from speed.rows import Row, Spread, paired

FEDAVG = "FedAvg with the same settings"
_SIZES = Sizes(d=62_006, classes=10, K=100, m=10, epochs=1, features=84)  # of W1
_WARM = 6  # rounds, after which methods that remember five earlier models remember all of them


def methods(rounds: int) -> Iterator[Row]:
    """One row per named method but FedAvg, on W1 with one worker."""
    for name, composition in compositions().items():
        if composition.parts:
            yield _row(name, composition, rounds)


def _row(name: str, composition: Composition, rounds: int) -> Row:
    spec = RunSpec(**composition.run_settings())
    costs = [part.cost(_SIZES) for part in build_parts(spec)]
    asked = {"workload": "W1", "change": {"test": 500}, "rounds": rounds, "warm": _WARM}
    settings = composition.settings | {"parts": spec.model_dump(mode="json")["parts"]}
    try:
        measured = measure(ours(name, "against_fedavg", **asked, **settings))
    except MeasurementError as error:
        return Row("methods", name, note=str(error))
    report = measured.reports[0]
    return Row(
        "methods",
        name,
        seconds=Spread.of(report["method"]),
        ratios={FEDAVG: paired(report["method"], report["fedavg"])},
        declared=declared(costs),
        note=passes(costs),
        repeats=report["method"],
    )


def declared(costs: Sequence[Cost]) -> float:
    """The passes that the parts declare, over FedAvg's."""
    return 1 + sum(cost.forward + 2 * cost.backward for cost in costs) / 3


def passes(costs: Sequence[Cost]) -> str:
    """The declared extra passes in words: '2 forward (1 through teachers), 1 backward'."""
    forward, teachers, backward = (
        sum(getattr(cost, name) for cost in costs) for name in ("forward", "teachers", "backward")
    )
    through = f" ({teachers:g} through teachers)" if teachers else ""
    found = [f"{forward:.3g} forward{through}"] * bool(forward)
    found += [f"{backward:.3g} backward"] * bool(backward)
    return ", ".join(found)

"""The sections of a comparison: which commands each measures, and beside which others."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fedbench import Cost, RunSpec, Sizes
from fedbench.engine.assemble import build_parts
from fedbench.spec.compositions import Composition, compositions
from speed import environments, turns
from speed.process import CORES, Command, MeasurementError, bare, measure, ours
from speed.turns import Row, Spread, paired

FEDAVG = "FedAvg with the same settings"
_SIZES = Sizes(d=62_006, classes=10, K=100, m=10, epochs=1, features=84)  # of W1
_WARM = 6  # rounds, after which methods that remember five earlier models remember all of them
_PLAIN = ("W1", "W2", "W3", "W4", "W5")
NAMES = (*_PLAIN, "peers", "nets", "methods", "evaluation", "scaling")


@dataclass(frozen=True)
class Effort:
    """How much is measured: repeats of each process, and `share` of the usual rounds in each."""

    repeats: int
    share: float = 1.0

    def rounds(self, usual: int) -> int:
        """The timed rounds of a process."""
        return max(1, round(usual * self.share))


ALL, ONE, MANY = f"bare loop, {CORES} threads", "bare loop, 1 thread", f"{CORES} bare loops at once"
OURS_ALL, OURS_ONE = f"fedbench, one run on {CORES} cores", "fedbench, one run, 1 worker"
OURS_MANY = f"{CORES} runs of fedbench at once"
OURS_HALF = "fedbench, one run, 1 worker, precision bfloat16"
_ROUNDS = {"W1": 5, "W2": 3, "W3": 5, "W4": 10, "W5": 20, "RN8": 3, "RN18": 2, "A-CNN": 3}


def workload(name: str, effort: Effort, engine: bool = True, peers: bool = True) -> Iterator[Row]:
    """One of W1 to W5: the bare loop, fedbench and the peers, one run and several at once."""
    settings = {"workload": name, "rounds": effort.rounds(_ROUNDS[name])}
    commands, against = _engine(settings) if engine else ([bare(ALL, CORES, **settings)], {})
    if peers:
        for peer in environments.PEERS:
            one, many = _peer(peer, settings)
            commands += [one, many]
            against |= {one.label: (ALL, OURS_ALL), many.label: (ALL, OURS_MANY)}
    yield from turns.rows(name, commands, against, effort.repeats)


def _engine(settings: dict[str, object]) -> tuple[list[Command], dict[str, tuple[str, ...]]]:
    commands = [
        bare(ALL, CORES, **settings),
        ours(OURS_ALL, threads=CORES, **settings),
        bare(ONE, **settings),
        ours(OURS_ONE, workers=1, **settings),
        bare(MANY, copies=CORES, **settings),
        ours(OURS_MANY, copies=CORES, workers=1, **settings),
    ]
    against = {OURS_ALL: (ALL,), OURS_ONE: (ONE,), OURS_MANY: (ALL, MANY)}
    return commands, against


def _peer(peer: str, settings: dict[str, object]) -> tuple[Command, Command]:
    """One run on all cores, and as many single-core runs at once as there are cores."""
    title, python = environments.title(peer), environments.python(peer)
    own = {"cores": CORES} if peer == "flower" else {}
    alone = {"cores": 1} if peer == "flower" else {}
    threads = 1 if peer == "flower" else CORES  # Flower has a worker process per core instead
    common = {"python": python, "missing": environments.missing(peer)}
    module = f"peers.{peer}"
    return (
        Command(f"{title}, one run", module, settings | own, threads, **common),
        Command(f"{CORES} runs of {title} at once", module, settings | alone, 1, CORES, **common),
    )


def nets(effort: Effort) -> Iterator[Row]:
    """Three deeper networks on one thread, and the same in bfloat16."""
    for name in ("RN8", "RN18", "A-CNN"):
        settings = {"workload": name, "rounds": effort.rounds(_ROUNDS[name])}
        commands = [
            bare(ONE, **settings),
            ours(OURS_ONE, workers=1, **settings),
            ours(OURS_HALF, workers=1, precision="bfloat16", **settings),
        ]
        against = {OURS_ONE: (ONE,), OURS_HALF: (ONE,)}
        yield from turns.rows(name, commands, against, effort.repeats)


def evaluation(effort: Effort) -> Iterator[Row]:
    """Scoring 10,000 images beside the training of a round, W1 with one worker."""
    settings = {"workload": "W1", "change": {"test": 10_000}, "rounds": effort.rounds(5)}
    found = [measure(ours("", "evaluation", **settings)) for _ in range(effort.repeats)]
    pairs = [
        (evaluate, train)
        for m in found
        for evaluate, train in zip(m.reports[0]["evaluate"], m.reports[0]["train"], strict=True)
    ]
    seconds = [evaluate for evaluate, _ in pairs]
    ratio = Spread.of([evaluate / train for evaluate, train in pairs])
    yield Row(
        "evaluation",
        "scoring 10,000 images",
        seconds=Spread.of(seconds),
        ratios={"training of a round": ratio},
        repeats=seconds,
    )


def scaling(effort: Effort) -> Iterator[Row]:
    """The same cohort of ten, drawn from 100 and from 10,000 clients."""
    for method in ("fedavg", "feddyn", "scaffold"):
        parts = [] if method == "fedavg" else [method]
        settings = {"workload": "W1", "rounds": effort.rounds(5), "workers": 1, "parts": parts}
        few, many = f"{method}, 100 clients", f"{method}, 10,000 clients"
        change = {"change": {"clients": 10_000}}
        commands = [ours(few, **settings), ours(many, **settings, **change)]
        yield from turns.rows("scaling", commands, {many: (few,)}, effort.repeats)


def chosen(names: set[str], effort: Effort) -> Iterator[Row]:
    """The rows of the sections that are named, in the order of the report.

    'peers' adds the peers to W1 to W5, as far as these are named; alone it stands for all of them.
    """
    peers, all_ = "peers" in names, set(_PLAIN)
    for name in sorted(names & all_ or (all_ if peers else ())):
        yield from workload(name, effort, engine=name in names, peers=peers)
    rest: dict[str, Callable[[Effort], Iterator[Row]]] = {
        "nets": nets,
        "methods": lambda effort: methods(effort.repeats * effort.rounds(3)),
        "evaluation": evaluation,
        "scaling": scaling,
    }
    for name, section in rest.items():
        if name in names:
            yield from section(effort)


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

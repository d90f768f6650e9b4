"""What methods need, send and compute beyond FedAvg, as their parts declare it."""

from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from fedbench.paper.yaml_notation import Level
from fedbench.report.facts.derived_from_settings import constant, network
from fedbench.report.tables.facts import Fact, FactRow, FactTable, PaperReader
from fedbench.report.values.numbers import point_name
from fedbench.sampling.sampler import cohort_size

if TYPE_CHECKING:
    from torch.nn import Linear

    from fedbench.core.part import Sizes

Terms = Counter[str]  # how often each kind of operation is made


def added_cost(parts: list[Any], sizes: "Sizes") -> Terms:
    """The costs that the parts declare beyond FedAvg, added up field by field of `Cost`."""
    from fedbench.core.part import Cost

    total: Terms = Counter(dict.fromkeys(asdict(Cost()), 0))
    for part in parts:
        total.update(asdict(part.cost(sizes)))
    return total


@dataclass(frozen=True)
class Traits(Fact):
    """Ticks and crosses from what the parts declare (FedGKD paper, Table 1)."""

    methods: tuple[str, ...]  # levels of the axis `method`

    def table(self, reader: PaperReader) -> FactTable:
        """One row per method, under the paper's column names; the last one says what is shared."""
        titles = ("Add. Inf. Sharing", "Proxy Data", "Model Modification", "What is shared")
        note = (
            "Read from what our implementations of the methods declare; data held out for the "
            "server count as proxy data."
        )
        rows = []
        for name in self.methods:
            parts, settings = reader.parts("method", name), reader.settings("method", name)
            shared = "; ".join(part.shares for part in parts if part.shares)
            modified = "projection" in settings or any(part.needs_projection for part in parts)
            proxy = any(part.proxy_data for part in parts)
            rows.append(FactRow(name, (bool(shared), proxy, modified, shared or None)))
        return FactTable("Method", {"": titles}, rows, note)


@dataclass(frozen=True)
class Traffic(Fact):
    """Numbers sent per client and round, in models, and passes per sample (FedADC paper, II-A).

    `rows`: the levels that have a row, by axis ({method: [FedAvg, FedADC], M: [1, 5]}); `at`:
    levels of other axes that say which network is meant ({dataset: CIFAR-10}).
    """

    rows: dict[str, list[Level]]
    at: dict[str, Level]

    def table(self, reader: PaperReader) -> FactTable:
        """One row per level, axis by axis."""
        from fedbench.core.part import Sizes

        columns = {
            "Models per client and round": ("Received", "Sent"),
            "Passes per sample": ("Forward", "Backward"),
        }
        note = (
            "Read from what our implementations of the methods declare beyond FedAvg. FedAvg sends "
            "the model to each client and back, and makes one forward and one backward pass per "
            "sample. A teacher's pass counts each time it is made."
        )
        run = reader.run(self.at)
        module = network(run)
        sizes = Sizes(
            d=sum(value.numel() for value in module.parameters()),
            classes=constant(run, "CLASSES"),
            K=run.clients,
            m=cohort_size(run.clients, run.participation),
            epochs=run.local_epochs or 1,
            features=cast("Linear", module.get_submodule("head")).in_features,
        )
        rows = []
        for axis, level in ((axis, level) for axis, of in self.rows.items() for level in of):
            cost = added_cost(reader.parts(axis, level), sizes)
            moved = (cost["down"] / sizes.d, cost["up"] / sizes.d)
            values = (f"{1 + x:.4g}" for x in (*moved, cost["forward"], cost["backward"]))
            rows.append(FactRow(point_name(axis, level), tuple(values)))
        return FactTable("Method", columns, rows, note)


@dataclass(frozen=True)
class Passes(Fact):
    """Passes through a client's data and models sent, per round (ASD paper, section 6)."""

    methods: tuple[str, ...]  # levels of the axis `method`

    def table(self, reader: PaperReader) -> FactTable:
        """One row per method."""
        from fedbench.core.part import LARGE

        columns = {
            "Passes per client and round": (
                "Forward, outputs stored", "Forward, as run here", "Backward",
            ),
            "Models per client and round": ("Received", "Sent"),
        }  # fmt: skip
        note = (
            "Read from what our implementations of the methods declare. Passes are through all "
            "data of a client. With outputs stored, a teacher's outputs are computed once per "
            "round instead of once per epoch, which needs training data without augmentation. "
            "Models count what is sent in multiples of the model's size; label counts and the like "
            "are left out."
        )
        epochs, rows = reader.run({}).local_epochs or 1, []
        for name in self.methods:
            cost = large_cost(reader.parts("method", name), epochs, LARGE.m)
            forward, taught = 1 + cost["forward"], cost["teachers"]
            passes = (epochs * (forward - taught) + taught, epochs * forward)
            moved = (round(1 + cost[way] / LARGE.d, 6) for way in ("down", "up"))
            values = (*passes, epochs * (1 + cost["backward"]), *moved)
            whole = tuple(int(x) if float(x).is_integer() else x for x in values)
            rows.append(FactRow(name, whole))
        return FactTable("Method", columns, rows, note)


@dataclass(frozen=True)
class Costs(Fact):
    """Vector operations by phase, by what parts declare, as in Table 1 of the FedDPC paper."""

    methods: tuple[str, ...]  # levels of the axis `method`

    def table(self, reader: PaperReader) -> FactTable:
        """One row per method, under the paper's column names."""
        columns = {
            "Local costs": (
                "Model initialization", "Gradient computation", "Model update",
                "Computing gradient update", "Total local costs",
            ),
            "Server costs": ("Global model update", "Maintain previous state", "Total server cost"),
        }  # fmt: skip
        note = (
            "1 stands for an operation on vectors of the model's size, g for the gradient of a "
            "mini-batch, f for a forward pass alone; H is the number of local steps, m that of "
            "clients per round. Counted from what our implementations of the methods declare "
            "beyond FedAvg; the paper's own symbols could not be recovered."
        )
        epochs = reader.run({}).local_epochs or 1
        rows = []
        for name in self.methods:
            parts = reader.parts("method", name)
            sums = [[*terms, sum(terms, Counter())] for terms in _phases(parts, epochs)]
            rows.append(FactRow(name, tuple(_text(terms) for of in sums for terms in of)))
        return FactTable("Method", columns, rows, note)


def _phases(parts: list[Any], epochs: int) -> tuple[list[Terms], list[Terms]]:
    """At a client, and at the server, where what a part declares may grow with m."""
    from fedbench.core.part import overriding

    one, two = (large_cost(parts, epochs, m) for m in (1, 2))
    # of parts that change the step taken, and not the gradient
    moving = [x for x in parts if overriding([x], "move") and not overriding([x], "grad")]
    moved = large_cost(moving, epochs)["ops_step"]
    passes = {"H·g": 1 + one["backward"], "H·f": one["forward"] - one["backward"]}
    local: list[Terms] = [  # FedAvg copies x_t, has a gradient and an update per step, a difference
        Counter({"": 1 + one["ops_begin"]}),
        Counter({**passes, "H": one["ops_step"] - moved}),
        Counter({"H": 1 + moved}),
        Counter({"": 1 + one["ops_end"]}),
    ]
    slope = {name: two[name] - one[name] for name in two}
    step = Counter({"m": 1 + one["ops_receive"] + slope["ops_server"]})
    step[""] = one["ops_server"] - slope["ops_server"]
    maintain = slope["ops_maintain"]
    return local, [step, Counter({"m": maintain, "": one["ops_maintain"] - maintain})]


def large_cost(parts: list[Any], epochs: float, m: int = 1) -> Terms:
    """The added cost for a model so large that nothing but models counts."""
    from fedbench.core.part import LARGE  # only here, as it loads torch

    return added_cost(parts, replace(LARGE, m=m, epochs=epochs))


def _text(terms: Terms) -> str | None:
    counts = [(terms[name], name) for name in ("H·g", "H·f", "H", "m", "") if terms[name]]
    texts = (name if name and count == 1 else f"{count:g}{name}" for count, name in counts)
    return " + ".join(texts) or None

"""What a method exchanges and computes; FedAvg sends one model and makes one pass each way."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from fedbench.report.tables.fact import added_cost, constant, network
from fedbench.sampling.sampler import cohort_size
from fedbench.spec import RunSpec

if TYPE_CHECKING:
    from torch.nn import Linear

    from fedbench.core.part import Sizes


@dataclass(frozen=True)
class Exchange:
    """Models that a client receives and sends per round, and passes that it makes per sample.

    `teachers` are those of the forward passes whose outputs stay the same within a round.
    """

    received: float
    sent: float
    forward: float
    backward: float
    teachers: float


def of_network(run: RunSpec, parts: list[Any]) -> Exchange:
    """With these parts, for the network that the run trains; imports torch."""
    from fedbench.core.part import Sizes

    module = network(run)
    sizes = Sizes(
        d=sum(value.numel() for value in module.parameters()),
        classes=constant(run, "CLASSES"),
        K=run.clients,
        m=cohort_size(run.clients, run.participation),
        epochs=run.local_epochs or 1,
        features=cast("Linear", module.get_submodule("head")).in_features,
    )
    return _of(parts, sizes)


def of_large_model(parts: list[Any], epochs: int) -> Exchange:
    """With these parts, for a model so large that nothing but models counts; imports torch."""
    from fedbench.core.part import LARGE

    return _of(parts, replace(LARGE, epochs=epochs))


def _of(parts: list[Any], sizes: "Sizes") -> Exchange:
    cost = added_cost(parts, sizes)
    return Exchange(
        received=1 + cost["down"] / sizes.d,
        sent=1 + cost["up"] / sizes.d,
        forward=1 + cost["forward"],
        backward=1 + cost["backward"],
        teachers=cost["teachers"],
    )

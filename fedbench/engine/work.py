"""How much computation a training sample costs, in sample passes."""

from fedbench.core.part import Sizes
from fedbench.engine.problem import Problem

_FORWARD, _BACKWARD = 1 / 3, 2 / 3  # of a sample pass; a backward pass takes twice a forward one


def work_per_sample(problem: Problem) -> float:
    """1 for FedAvg; more with the forward and backward passes that the method's parts declare.

    FedSAM, which passes every sample twice each way, costs 2, and one teacher 1/3 more.
    """
    fed = problem.fed
    sizes = Sizes(
        d=fed.d,
        classes=fed.classes,
        K=fed.K,
        m=fed.m,
        epochs=_epochs(problem),
        features=fed.net.features,
    )
    costs = [part.cost(sizes) for part in problem.task.parts]
    forward, backward = sum(cost.forward for cost in costs), sum(cost.backward for cost in costs)
    return 1 + _FORWARD * forward + _BACKWARD * backward


def _epochs(problem: Problem) -> float:
    """Local epochs, on average over the clients where local work is counted in steps."""
    spec = problem.spec
    if spec.local_epochs:
        return spec.local_epochs
    steps_of_an_epoch = float((problem.fed.n / problem.largest_batch).clamp(min=1).mean())
    return (spec.steps or 1) / steps_of_an_epoch

"""pfl-research: clients one after the other in one process, by its simulated backend.

python -m peers.pfl '{"workload": "W1", "rounds": 3}'
"""

import json
import sys

import numpy as np
import torch
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.dataset import Dataset
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.sampling import MinimizeReuseUserSampler
from pfl.hyperparam import NNTrainHyperParams
from pfl.metrics import Metrics
from pfl.model.pytorch import PyTorchModel
from speed.stopwatch import Stopwatch
from speed.workload import WORKLOADS, Plain, Workload
from torch import Tensor, nn


class Network(Plain):
    """The network with the two functions that pfl calls."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.samples = 0  # trained on so far

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """The mean loss of a mini-batch."""
        self.samples += len(y)
        return nn.functional.cross_entropy(self(x), y)

    def metrics(self, x: Tensor, y: Tensor) -> dict[str, float]:
        """Nothing is evaluated."""
        return {}


class Clock(TrainingProcessCallback):
    """Tells the stopwatch when a round has ended."""

    def __init__(self, watch: Stopwatch) -> None:
        self._watch = watch

    def after_central_iteration(
        self, aggregate_metrics: Metrics, model: PyTorchModel, *, central_iteration: int
    ) -> tuple[bool, Metrics]:
        """A round has ended."""
        self._watch.lap()
        return self._watch.over, Metrics()


def federated(workload: Workload) -> FederatedDataset:
    """The clients' samples, shuffled at each call: pfl trains on them in the order given."""
    x, y = workload.images()

    def client(number: int) -> Dataset:
        rows = torch.randperm(workload.samples) + workload.rows(number).start
        return Dataset([x[rows], y[rows]])

    return FederatedDataset(client, MinimizeReuseUserSampler(list(range(workload.clients))))


def main(name: str, rounds: int) -> None:
    """Train and report."""
    workload, watch, network = WORKLOADS[name], Stopwatch(rounds), Network(name)
    np.random.seed(0)  # noqa: NPY002  # pfl draws cohorts from numpy's global generator
    model = PyTorchModel(
        network,
        local_optimizer_create=torch.optim.SGD,
        central_optimizer=torch.optim.SGD(network.parameters(), lr=1.0),
    )
    data = federated(workload)
    FederatedAveraging().run(
        NNAlgorithmParams(
            central_num_iterations=watch.total,
            evaluation_frequency=watch.total + 1,
            train_cohort_size=workload.cohort,
            val_cohort_size=0,
        ),
        SimulatedBackend(data, data),
        model,
        NNTrainHyperParams(
            local_num_epochs=1,
            local_learning_rate=workload.lr,
            local_batch_size=workload.batch,
        ),
        callbacks=[Clock(watch)],
        send_metrics_to_platform=False,
    )
    watch.report(samples=network.samples)


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    main(asked["workload"], asked["rounds"])

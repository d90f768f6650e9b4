"""FedLab: clients one after the other in one process, with its own trainer and server.

python -m peers.fedlab '{"workload": "W1", "rounds": 3}'
"""

import json
import sys
from typing import Any

from fedlab.contrib.algorithm.basic_client import SGDSerialClientTrainer
from fedlab.contrib.algorithm.basic_server import SyncServerHandler
from fedlab.contrib.dataset.basic_dataset import BaseDataset
from fedlab.core.standalone import StandalonePipeline
from speed.stopwatch import Stopwatch
from speed.workload import WORKLOADS, Plain, Workload
from torch.utils.data import DataLoader


class Clients:
    """The clients' samples, as FedLab's trainer asks for them."""

    def __init__(self, workload: Workload) -> None:
        self._workload, (self._x, self._y) = workload, workload.images()
        self.samples = 0  # handed out so far

    def get_dataloader(self, client: int, batch_size: int) -> DataLoader[Any]:
        """Shuffled mini-batches of a client."""
        rows = self._workload.rows(client)
        self.samples += self._workload.samples
        return DataLoader(BaseDataset(self._x[rows], self._y[rows]), batch_size, shuffle=True)


class Pipeline(StandalonePipeline):
    """FedLab's loop, with a clock where it would evaluate."""

    watch: Stopwatch

    def evaluate(self) -> None:
        """A round has ended."""
        self.watch.lap()


def main(name: str, rounds: int) -> None:
    """Train and report."""
    workload, watch = WORKLOADS[name], Stopwatch(rounds)
    trainer = SGDSerialClientTrainer(Plain(name), workload.clients)
    trainer.setup_optim(epochs=1, batch_size=workload.batch, lr=workload.lr)
    trainer.setup_dataset(clients := Clients(workload))
    share = workload.cohort / workload.clients
    pipeline = Pipeline(SyncServerHandler(Plain(name), watch.total, share), trainer)
    pipeline.watch = watch
    pipeline.main()
    watch.report(samples=clients.samples)


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    main(asked["workload"], asked["rounds"])

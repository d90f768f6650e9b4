"""Flower's simulation with Ray: one worker process per core.

python -m peers.flower '{"workload": "W1", "rounds": 3, "cores": 2}'
"""

import json
import sys
from collections.abc import Iterable

from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from speed.stopwatch import Stopwatch
from speed.workload import WORKLOADS, Plain

from peers.flower_client import app as client_app


class Counting(FedAvg):
    """FedAvg that counts the samples on which the clients say that they trained."""

    samples = 0

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """The mean of the clients' models; an error of a client ends the measurement."""
        replies = list(replies)
        self.samples += sum(int(m.content["metrics"]["num-examples"]) for m in replies)
        return super().aggregate_train(server_round, replies)


def main(name: str, rounds: int, cores: int) -> None:
    """Train and report."""
    workload, watch = WORKLOADS[name], Stopwatch(rounds, warm=2)  # both workers have begun by then
    strategy = Counting(fraction_train=workload.cohort / workload.clients, fraction_evaluate=0.0)
    server_app = ServerApp()

    @server_app.main()
    def serve(grid: Grid, context: Context) -> None:
        strategy.start(
            grid=grid,
            initial_arrays=ArrayRecord(Plain(name).state_dict()),
            train_config=ConfigRecord({"workload": name}),
            num_rounds=watch.total,
            evaluate_fn=lambda round_, arrays: watch.lap() if round_ else None,
        )

    run_simulation(
        server_app,
        client_app,
        num_supernodes=workload.clients,
        backend_config={
            "init_args": {"num_cpus": cores, "include_dashboard": False},
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
        },
    )
    watch.report(samples=strategy.samples)


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    main(asked["workload"], asked["rounds"], asked["cores"])

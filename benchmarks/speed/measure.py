"""One measured process: reads its settings as JSON, trains, and prints what the clock says.

python -m speed.measure '{"kind": "rounds", "workload": "W1", "workers": 1, "rounds": 3}'
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fedbench import Training
from fedbench.engine.machine import one_thread_a_process
from speed import ours
from speed.bare import BareLoop
from speed.stopwatch import Stopwatch
from speed.workload import WORKLOADS, Workload


def rounds(workload: Workload, rounds: int, workers: int | None = None, **settings: Any) -> None:
    """Rounds of fedbench without evaluation."""
    one_thread_a_process()
    training = ours.training(workload, workers, **settings)
    _time(training.round, rounds)


def bare(workload: Workload, rounds: int) -> None:
    """Rounds of the bare loop."""
    loop = BareLoop(workload, ours.architecture(workload))
    _time(loop.round, rounds)


def against_fedavg(workload: Workload, rounds: int, warm: int, **settings: Any) -> None:
    """Rounds of a method and of FedAvg in turn, in one process; reports seconds of both.

    warm: rounds before those that count, in which methods gather what they remember.
    """
    one_thread_a_process()
    method = ours.training(workload, 1, **settings)
    fedavg = ours.training(workload, 1, **{**settings, "parts": []})
    seconds: dict[str, list[float]] = {"method": [], "fedavg": []}

    def both() -> None:
        seconds["method"].append(_seconds(method.round))
        seconds["fedavg"].append(_seconds(fedavg.round))

    _time(both, rounds, lambda: {name: t[warm:] for name, t in seconds.items()}, warm)


def evaluation(workload: Workload, rounds: int, **settings: Any) -> None:
    """Rounds that are each evaluated; reports the seconds of training and of scoring of each."""
    one_thread_a_process()
    training = ours.training(workload, 1, rounds + 1, eval_every=1, **settings)
    _time(training.round, rounds, lambda: _phases(training))


def _phases(training: Training) -> dict[str, list[float]]:
    history = training.result().history[["train_seconds", "evaluate_seconds"]].diff().iloc[1:]
    return {"train": list(history["train_seconds"]), "evaluate": list(history["evaluate_seconds"])}


def _time(
    round_: Callable[[], None],
    rounds: int,
    more: Callable[[], dict[str, Any]] = dict,
    warm: int = 1,
) -> None:
    watch = Stopwatch(rounds, warm)
    while not watch.over:
        round_()
        watch.lap()
    watch.report(**more())


def _seconds(act: Callable[[], None]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


KINDS = {act.__name__: act for act in (rounds, bare, against_fedavg, evaluation)}

if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    of = replace(WORKLOADS[asked.pop("workload")], **asked.pop("change", {}))
    KINDS[asked.pop("kind")](of, **asked)

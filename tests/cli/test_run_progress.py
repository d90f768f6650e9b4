"""The time left that a run shows while it is trained."""

import io

from rich.console import Console

from fedbench.cli import run
from fedbench.spec import RunSpec


def test_a_resumed_run_counts_its_own_rounds_alone(monkeypatch):
    # it goes on after round 80 and scores every tenth: round 90 after 60 s, so that 10 are 60 s
    now = iter([0.0, 60.0, 120.0])
    monkeypatch.setattr(run, "monotonic", lambda: next(now))
    console = Console(file=io.StringIO())
    with run.watching(console, RunSpec(rounds=100, eval_every=10)) as watch:
        watch({"round": 90, "accuracy": 0.5})
        watch({"round": 100, "accuracy": 0.6})
    first, last = console.file.getvalue().splitlines()
    assert first == "round 90/100  accuracy 0.5000  60 s left"
    assert last.endswith("0 s left")

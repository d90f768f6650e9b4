"""Ends a run before its last round where its settings say so, from its history alone.

A run that was killed and resumed has the same history, and so ends at the same round.
"""

from collections.abc import Sequence

from fedbench.base.errors import FedbenchError
from fedbench.engine.problem import Problem
from fedbench.engine.progress import Row
from fedbench.spec.sections import Stop


def require_score(problem: Problem) -> None:
    """Raise `FedbenchError` if the run will not have the score that its rule looks at."""
    stop = problem.spec.stop
    if stop and stop.metric != "loss" and not problem.fed.classes:
        raise FedbenchError(
            f"stop.metric = '{stop.metric}' needs classes, but data set '{problem.data.name}' has "
            "numbers for labels; write metric: loss"
        )


def ended(stop: Stop | None, rows: Sequence[Row]) -> bool:
    """Whether the rule says that the last of these evaluated rounds is the run's last."""
    return stop is not None and stop.ends([row[stop.column] for row in rows])

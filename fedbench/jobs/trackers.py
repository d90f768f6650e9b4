"""The trackers that `--live` names."""

from collections.abc import Callable
from pathlib import Path

from fedbench.base.errors import FedbenchError, unknown
from fedbench.jobs.live import Follow, Live, nobody

KINDS = ("mlflow", "tensorboard")


def followers(where: str, folder: Path, say: Callable[[str], None]) -> Follow:
    """What follows runs as `--live` says: 'tensorboard' or 'mlflow', or 'mlflow=URI'.

    Without a place behind '=' it is `tensorboard/` or `mlflow.db` in the folder. Raises
    `FedbenchError` on another word, or if a package is missing.
    """
    kind, _, place = where.partition("=")
    if not where:
        return nobody
    if kind == "mlflow":
        from fedbench.jobs.live_mlflow import opener
    elif kind == "tensorboard":
        from fedbench.jobs.live_tensorboard import opener
    else:
        raise FedbenchError(f"live: {unknown('tracker', kind, KINDS)}")
    return Live(opener(place, folder), say).following

"""Refuses at the start of a workflow what Snakemake or MLflow would refuse after the training."""

import os
import time
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from fedbench.base.errors import FedbenchError
from fedbench.store import Results

_AHEAD = 5  # seconds by which the clock of a file server may be ahead
_LONGEST = 504  # bytes of a path that SQLite opens


def require_past(files: Iterable[str | Path]) -> None:
    """Raise `FedbenchError` naming a file that is newer than now.

    All that is made of it would be older, and Snakemake ends a workflow at that.
    """
    latest = time.time() + _AHEAD
    for file in map(Path, files):
        try:
            changed = file.stat().st_mtime
        except OSError:  # that it is missing is said where it is read
            continue
        if changed > latest:
            raise FedbenchError(
                f"{file}: was changed on {datetime.fromtimestamp(changed):%Y-%m-%d at %H:%M}, "
                "which is in the future; set this machine's clock, or give the file the time of "
                "now with `touch`"
            )


def require_database(results: Path, uri: str) -> None:
    """Raise `FedbenchError` if MLflow could not open its database in the results folder."""
    file = Results(results).database.absolute()
    if not uri and len(os.fsencode(file)) > _LONGEST:
        raise FedbenchError(
            f"results = '{results}': MLflow's database there would have a path of "
            f"{len(os.fsencode(file))} bytes, and SQLite opens none of more than {_LONGEST}; name "
            "a folder with a shorter path, or another database with tracking_uri"
        )

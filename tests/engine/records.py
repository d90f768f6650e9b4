"""A run's record as the engine writes it, for histories written by hand."""

from typing import Any

from fedbench.spec import RunSpec

DATA = {"name": "digits", "checksum": "0" * 64}


def record(run: RunSpec, **changes: Any) -> dict[str, Any]:
    """All that is read again, of a finished run without a search."""
    usual = {
        **{"id": run.id, "status": "finished", "rounds": run.rounds, "device": "cpu"},
        **{"resolved": run.model_dump(mode="json"), "data": DATA},
        **{"seconds": {"train": 1.0}, "sample_passes": 10},
    }
    return usual | changes

"""What a run leaves on disk, and where everything below a results folder lies."""

from fedbench.store.frames import read_frame, write_frame
from fedbench.store.results import Results
from fedbench.store.run import CHECKPOINT, Record, RunFolder, require_record

__all__ = [
    "CHECKPOINT",
    "Record",
    "Results",
    "RunFolder",
    "read_frame",
    "require_record",
    "write_frame",
]

"""What a run leaves on disk, and where everything below a results folder lies."""

from fedbench.store.frames import read_frame, write_frame
from fedbench.store.origins import origins
from fedbench.store.results import Results
from fedbench.store.run import CHECKPOINT, Record, RunFolder, require_record
from fedbench.store.run_lock import locked
from fedbench.store.states import (
    RunState,
    Status,
    failure_file,
    forget_failure,
    left_by,
    note_failure,
    signs_of_life,
    state,
)

__all__ = [
    "CHECKPOINT",
    "Record",
    "Results",
    "RunFolder",
    "RunState",
    "Status",
    "failure_file",
    "forget_failure",
    "left_by",
    "locked",
    "note_failure",
    "origins",
    "read_frame",
    "require_record",
    "signs_of_life",
    "state",
    "write_frame",
]

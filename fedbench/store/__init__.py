"""What a run leaves on disk, and where everything below a results folder lies."""

from fedbench.store.parquet_frames import read_frame as read_frame
from fedbench.store.parquet_frames import write_frame as write_frame
from fedbench.store.results_folder import Results as Results
from fedbench.store.results_folder import origins as origins
from fedbench.store.results_folder import read_facts as read_facts
from fedbench.store.results_folder import write_facts as write_facts
from fedbench.store.run import CHECKPOINT as CHECKPOINT
from fedbench.store.run import RunFolder as RunFolder
from fedbench.store.run import locked as locked
from fedbench.store.run_states import RunState as RunState
from fedbench.store.run_states import Status as Status
from fedbench.store.run_states import failure_file as failure_file
from fedbench.store.run_states import note_failure as note_failure
from fedbench.store.run_states import signs_of_life as signs_of_life
from fedbench.store.run_states import state as state

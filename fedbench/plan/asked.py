"""What a cluster is asked for per job: minutes and memory, from the plan's estimates."""

import math

from fedbench.base import registry
from fedbench.spec import RunSpec

_START = 5  # minutes until a process trains on a busy file system, and to load its data
_FACTOR = 3  # by which a run may be slower than the plan expects
_LEAST = 2000  # MB of a process with PyTorch, a small network and its data
_STATES = 4000  # MB of what methods store for clients; beyond `Machine.state_gb` it lies on disk
_LARGE = 4000  # MB that a large network needs more, with its activations
_SLOW = 50.0  # samples per second on a core: a network that is slower than this is large


def minutes(seconds: float) -> int:
    """The time limit of a job that is expected to take so long."""
    return _START + math.ceil(_FACTOR * seconds / 60)


def memory_mb(run: RunSpec) -> int:
    """The memory of a process that trains the run."""
    constants = registry.find("model", run.model.name).constants
    large = constants["SAMPLES_PER_SECOND"] < _SLOW
    return _LEAST + (_LARGE + _STATES if large else 0)

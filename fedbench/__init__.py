"""fedbench: the bench on which federated-learning methods are compared.

    from fedbench import RunSpec, run
    result = run(RunSpec(parts=[{"fedprox": {"mu": 0.01}}], clients=20))

Names are loaded on first use: planning a grid must not wait for PyTorch.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedbench.base.errors import FedbenchError
    from fedbench.cli.compare_methods import Comparison, compare
    from fedbench.core.part import Cost, Part, Sizes
    from fedbench.core.round_data import Batch, Federation, Gradient, Round, State, Turn
    from fedbench.data.dataset import Dataset, Inputs
    from fedbench.data.partition import Partition
    from fedbench.data.source import Source
    from fedbench.engine.machine import Machine
    from fedbench.engine.probe import Probe, Scene
    from fedbench.engine.record import Result
    from fedbench.engine.training import Training, run
    from fedbench.models.architecture import Architecture
    from fedbench.sampling.sampler import Sampler
    from fedbench.spec import Choice, RunSpec
    from fedbench.store.published import published
    from fedbench.work.local_epochs import Shares, Work

__version__ = "1.0.0"

__all__ = [
    "Architecture", "Batch", "Choice", "Comparison", "Cost", "Dataset", "FedbenchError",
    "Federation", "Gradient", "Inputs", "Machine", "Part", "Partition", "Probe", "Result",
    "Round", "RunSpec", "Sampler", "Scene", "Shares", "Sizes", "Source", "State", "Training",
    "Turn", "Work", "__version__", "compare", "published", "run",
]  # fmt: skip
_NAMES = {
    "base.errors": "FedbenchError",
    "cli.compare_methods": "Comparison compare",
    "core.part": "Cost Part Sizes",
    "core.round_data": "Batch Federation Gradient Round State Turn",
    "data.dataset": "Dataset Inputs",
    "data.partition": "Partition",
    "data.source": "Source",
    "engine.machine": "Machine",
    "engine.probe": "Probe Scene",
    "engine.record": "Result",
    "engine.training": "Training run",
    "models.architecture": "Architecture",
    "sampling.sampler": "Sampler",
    "spec": "Choice RunSpec",
    "store.published": "published",
    "work.local_epochs": "Shares Work",
}
_HOMES = {each: f"fedbench.{module}" for module, names in _NAMES.items() for each in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fedbench' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)

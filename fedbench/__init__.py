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
_HOMES = {
    **dict.fromkeys(
        ("Batch", "Federation", "Gradient", "Round", "State", "Turn"), "fedbench.core.round_data"
    ),
    **dict.fromkeys(("Cost", "Part", "Sizes"), "fedbench.core.part"),
    **dict.fromkeys(("Dataset", "Inputs"), "fedbench.data.dataset"),
    **dict.fromkeys(("Probe", "Scene"), "fedbench.engine.probe"),
    **dict.fromkeys(("Training", "run"), "fedbench.engine.training"),
    **dict.fromkeys(("Choice", "RunSpec"), "fedbench.spec"),
    **dict.fromkeys(("Shares", "Work"), "fedbench.work.local_epochs"),
    **dict.fromkeys(("Comparison", "compare"), "fedbench.cli.compare_methods"),
    "Architecture": "fedbench.models.architecture",
    "FedbenchError": "fedbench.base.errors",
    "Machine": "fedbench.engine.machine",
    "Partition": "fedbench.data.partition",
    "Result": "fedbench.engine.record",
    "Sampler": "fedbench.sampling.sampler",
    "Source": "fedbench.data.source",
    "published": "fedbench.store.published",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fedbench' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)

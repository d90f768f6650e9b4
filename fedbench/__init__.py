"""fedbench: the bench on which federated-learning methods are compared.

    from fedbench import RunSpec, run
    result = run(RunSpec(parts=[{"fedprox": {"mu": 0.01}}], clients=20))

Names are loaded on first use: planning a grid must not wait for PyTorch.
"""

import importlib
from importlib import metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedbench.base.errors import FedbenchError
    from fedbench.core.part import Cost, Part
    from fedbench.core.round import Batch, Fed, Round, State, Turn
    from fedbench.data.dataset import Dataset
    from fedbench.engine.machine import Machine
    from fedbench.engine.probe import Probe
    from fedbench.engine.record import Result
    from fedbench.engine.training import Training, run
    from fedbench.spec import RunSpec

__all__ = [
    "Batch", "Cost", "Dataset", "Fed", "FedbenchError", "Machine", "Part", "Probe", "Result",
    "Round", "RunSpec", "State", "Training", "Turn", "run",
]  # fmt: skip
_HOMES = {
    **dict.fromkeys(("Batch", "Fed", "Round", "State", "Turn"), "fedbench.core.round"),
    **dict.fromkeys(("Cost", "Part"), "fedbench.core.part"),
    **dict.fromkeys(("Training", "run"), "fedbench.engine.training"),
    "Dataset": "fedbench.data.dataset",
    "FedbenchError": "fedbench.base.errors",
    "Machine": "fedbench.engine.machine",
    "Probe": "fedbench.engine.probe",
    "Result": "fedbench.engine.record",
    "RunSpec": "fedbench.spec",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return metadata.version("fedbench")
    if name not in _HOMES:
        raise AttributeError(f"module 'fedbench' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)

"""fedbench: the bench on which federated-learning methods are compared.

    from fedbench import RunSpec, run
    result = run(RunSpec(parts=[{"fedprox": {"mu": 0.01}}], clients=20))

Names are loaded on first use: planning a grid must not wait for torch.
"""

import importlib
from typing import Any

_HOMES = {
    "RunSpec": "fedbench.spec",
    "run": "fedbench.engine.training",
    "Result": "fedbench.engine.training",
    "Machine": "fedbench.engine.machine",
    "Part": "fedbench.core.part",
    "Dataset": "fedbench.data.dataset",
    "FedbenchError": "fedbench.base.errors",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fedbench' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)

"""Follows runs with TensorBoard: one folder of event files per run."""

import importlib.util
from importlib import import_module
from pathlib import Path

from fedbench.base.errors import FedbenchError
from fedbench.base.files import require_writable
from fedbench.engine.progress import Row
from fedbench.jobs.live import Open, Tracker
from fedbench.spec import RunSpec


def opener(place: str, folder: Path) -> Open:
    """Opens `<place>/<run id>` for a run; raises `FedbenchError` without the package."""
    if importlib.util.find_spec("tensorboard") is None:
        raise FedbenchError("live: tensorboard is not installed; pip install tensorboard")
    root = Path(place) if place else folder / "tensorboard"
    require_writable(root)

    def opened(spec: RunSpec) -> Tracker:
        return _Events(root / spec.id)

    return opened


class _Events:
    """Event files; a run that is resumed adds another file to the same folder."""

    def __init__(self, folder: Path) -> None:
        tensorboard = import_module("torch.utils.tensorboard")  # an extra, and without types
        self._writer = tensorboard.SummaryWriter(str(folder))

    def tell(self, row: Row) -> None:
        for name, value in row.items():
            if name != "round":
                self._writer.add_scalar(name, value, int(row["round"]))
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()

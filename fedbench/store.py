"""One folder a run: run.json, rounds.parquet and other tables, weights on request, a checkpoint."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from safetensors.torch import save_file
from torch import Tensor

from fedbench.errors import FedbenchError
from fedbench.files import atomic, exists, require_writable, write_text

DONE = ("finished", "diverged")


class RunFolder:
    """The files of one run; run.json is written last, so a folder that has it is complete."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def require_writable(self) -> None:
        """Raise `FedbenchError` before any training if results cannot be written."""
        require_writable(self.path)

    def record(self) -> dict[str, Any] | None:
        """run.json of a complete run, else None; raises `FedbenchError` if it is damaged."""
        file = self.path / "run.json"
        if not exists(file):
            return None
        try:
            found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            status = found.get("status")
        except (AttributeError, ValueError) as error:
            raise FedbenchError(
                f"{file}: not a run's record in JSON ({error}); delete it to train the run again"
            ) from None
        return found if status in DONE else None

    def history(self) -> pd.DataFrame:
        """One row per evaluated round."""
        return self.table("rounds")

    def table(self, name: str) -> pd.DataFrame:
        """The table of that name: 'rounds', 'clients', or that of a probe."""
        file = self.path / f"{name}.parquet"
        try:
            return pd.read_parquet(file)
        except (OSError, ValueError) as error:
            raise FedbenchError(f"{file}: cannot be read ({str(error).splitlines()[0]})") from None

    def finish(
        self,
        record: Mapping[str, Any],
        history: pd.DataFrame,
        tensors: Mapping[str, Tensor],
        tables: Mapping[str, pd.DataFrame],
    ) -> None:
        """Write everything, run.json last, then drop the checkpoint."""
        for name, frame in {**tables, "rounds": history}.items():
            with atomic(self.path / f"{name}.parquet") as temporary:
                frame.to_parquet(temporary, index=False)
        if tensors:
            with atomic(self.path / "model.safetensors") as temporary:
                save_file({k: v.detach().cpu().contiguous() for k, v in tensors.items()}, temporary)
        write_text(self.path / "run.json", json.dumps(record, indent=2) + "\n")
        (self.path / "checkpoint.pt").unlink(missing_ok=True)

    def save_checkpoint(self, state: Mapping[str, Any]) -> None:
        """Replace the checkpoint in one move."""
        with atomic(self.path / "checkpoint.pt") as temporary:
            torch.save(dict(state), temporary)

    def load_checkpoint(self, run_id: str, device: torch.device) -> dict[str, Any] | None:
        """The checkpoint of this very run, if there is one; raises `FedbenchError` if damaged."""
        file = self.path / "checkpoint.pt"
        if not exists(file):
            return None
        try:
            state: dict[str, Any] = torch.load(file, map_location=device, weights_only=True)
            owner = state["id"]
        except Exception as error:  # torch raises whatever its unpickler met
            raise FedbenchError(
                f"{file}: damaged checkpoint ({type(error).__name__}); delete it to start again"
            ) from None
        if owner != run_id:
            raise FedbenchError(
                f"{file}: belongs to run {owner}, not to {run_id}; delete it or move it"
            )
        return state

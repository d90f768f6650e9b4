"""Where data files live."""

import os
from pathlib import Path

from platformdirs import user_cache_dir


def data_folder(folder: Path | str | None = None) -> Path:
    """Take the folder given, else the environment's FEDBENCH_DATA, else the user's cache folder."""
    chosen = (
        folder or os.environ.get("FEDBENCH_DATA") or user_cache_dir("fedbench", appauthor=False)
    )
    return Path(chosen).expanduser()

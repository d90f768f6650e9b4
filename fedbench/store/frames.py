"""The collected frames: written with a checksum, which is checked when they are read again."""

import hashlib
from pathlib import Path

import pandas as pd

from fedbench.base.errors import FedbenchError, short
from fedbench.base.files import atomic, write_text
from fedbench.store.arrow import read_parquet


def write_frame(frame: pd.DataFrame, file: Path) -> None:
    """Write the frame as parquet and its checksum as `<file>.sha256`, each atomically."""
    with atomic(file) as temporary:
        frame.to_parquet(temporary, index=False)
        checksum = hashlib.sha256(temporary.read_bytes()).hexdigest()
    write_text(_checksum_file(file), f"{checksum}  {file.name}\n")


def read_frame(file: Path) -> pd.DataFrame:
    """The frame; raises `FedbenchError` if it is damaged or is not the one that was written.

    A frame without a checksum, from an earlier version, is taken as it is.
    """
    try:
        content = file.read_bytes()
        checksum = (
            _checksum_file(file).read_text(encoding="utf-8")
            if _checksum_file(file).exists()
            else ""
        )
        if checksum and hashlib.sha256(content).hexdigest() != checksum.partition(" ")[0]:
            raise ValueError("it is not the file that was written, by its sha256")
        return read_parquet(content)
    except Exception as error:  # a damaged file fails in as many ways as it has parts
        raise FedbenchError(
            f"{file}: cannot be used ({short(error)}); delete it to collect the runs again"
        ) from None


def _checksum_file(file: Path) -> Path:
    return file.with_name(f"{file.name}.sha256")

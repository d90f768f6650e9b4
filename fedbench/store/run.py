"""The folder of one run: its files, and the checks on them when they are read again."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
from filelock import FileLock, Timeout
from pydantic import ConfigDict, Field

from fedbench.base import files, signals
from fedbench.base.checks import Strict, checked
from fedbench.base.checksums import digest
from fedbench.base.errors import FedbenchError, failing
from fedbench.store.parquet_frames import in_pandas, read_arrow, to_parquet

if TYPE_CHECKING:  # code that only reads tables must not wait for torch
    from torch import Tensor


CHECKSUM = "checksum"  # the field of a record that holds its own
DONE = ("finished", "diverged")
CHECKPOINT = "checkpoint.pt"  # of an unfinished run; deleted when it is finished
_PAUSE = 0.5  # seconds between two tries to get the lock of a folder
_NUMBERS = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean)
Json = Mapping[str, Any]  # the content of a JSON file


class Record(Strict):
    """The fields of run.json that are read again; the file has more."""

    model_config = ConfigDict(extra="ignore")

    id: str
    status: str
    rounds: int
    resolved: dict[str, Any]
    data: dict[str, str]
    seconds: dict[str, float]
    sample_passes: float
    device: str
    files: dict[str, str] = Field(default_factory=dict)


def with_checksum(record: Json) -> dict[str, Any]:
    """The record with the checksum of all its other fields, as its last field."""
    others = {name: value for name, value in record.items() if name != CHECKSUM}
    return {**others, CHECKSUM: digest(others)}


def is_as_written(content: Json) -> bool:
    """Whether it has a checksum, which follows from its other fields."""
    return CHECKSUM in content and content[CHECKSUM] == with_checksum(content)[CHECKSUM]


def require_record(file: Path | str, content: dict[str, Any], remedy: str) -> Record:
    """The record's fields; raises `FedbenchError` naming one that is missing or damaged."""
    with failing(f"{file}: not a run's record", remedy, (FedbenchError,)):
        return checked(Record, content)


@dataclass(frozen=True)
class RunFolder:
    """The files of one run; run.json is written last, so a folder that has it is complete."""

    path: Path

    def has_record(self) -> bool:
        """Whether the run has been trained to its end; nothing is read."""
        return files.exists(self.path / "run.json")

    def version(self) -> str | None:
        """12 digits of run.json's sha256, others when the run is trained again; None without it."""
        file = self.path / "run.json"
        return files.sha256_of(file)[:12] if files.exists(file) else None

    def record(self) -> dict[str, Any] | None:
        """run.json of a complete run, else None; raises `FedbenchError` if it was changed."""
        file = self.path / "run.json"
        if not files.exists(file):
            return None
        with failing(f"{file}: not a run's record in JSON", self._remedy, (FedbenchError,)):
            record = files.read_json(file)
        # records of earlier versions have no checksum
        if CHECKSUM in record and not is_as_written(record):
            raise self.damaged("run.json", "is not the record that the run wrote, by its checksum")
        if record.get("status") not in DONE:
            return None
        require_record(file, record, self._remedy)
        return record

    def finished(self, run_id: str) -> dict[str, Any] | None:
        """The record of the run if it is complete; refuses a file that is not as it was written."""
        record = self.require_run(run_id)
        if record is None or "files" not in record:  # as in records of earlier versions
            return record
        if "rounds.parquet" not in record["files"]:
            raise self.damaged("run.json", "files has no checksum of rounds.parquet")
        for name in record["files"]:
            self._content(name, record)
        return record

    def require_run(self, run_id: str) -> dict[str, Any] | None:
        """The record, if any; raises `FedbenchError` if it is another run's than this."""
        record = self.record()
        if record is not None and record["id"] != run_id:
            raise self.damaged("run.json", f"is the record of run {record['id']}, not of {run_id}")
        return record

    def history(self, record: Json | None = None) -> pd.DataFrame:
        """One row per evaluated round; `record`: what `self.record()` said, if it was asked."""
        return in_pandas(self.rounds(record))

    def rounds(self, record: Json | None = None) -> pa.Table:
        """The history in Arrow's form: thousands of them are joined in a fifth of the time."""
        record = self.record() or {} if record is None else record
        file, rounds = "rounds.parquet", self.arrow("rounds", record)
        words = [x.name for x in rounds.schema if not any(is_(x.type) for is_ in _NUMBERS)]
        if words:
            raise self.damaged(file, f"column '{words[0]}' has no numbers")
        if "round" not in rounds.column_names:
            raise self.damaged(file, "no column 'round'")
        numbers = rounds["round"].to_pylist()
        if len(numbers) > len({*numbers}):
            raise self.damaged(file, f"round {max(numbers, key=numbers.count)} is there twice")
        last = int(numbers[-1]) if numbers else 0
        if last != record.get("rounds", last):
            raise self.damaged(file, f"ends at round {last}, but run.json says {record['rounds']}")
        return rounds

    def has(self, name: str) -> bool:
        """Whether the run wrote a table of that name."""
        file = f"{name}.parquet"
        return (self.path / file).exists() or file in (self.record() or {}).get("files", {})

    def table(self, name: str, record: Json | None = None) -> pd.DataFrame:
        """The table of that name: 'rounds', 'clients', or that of a probe."""
        return in_pandas(self.arrow(name, record))

    def arrow(self, name: str, record: Json | None) -> pa.Table:
        """The table of that name in Arrow's form."""
        record = self.record() or {} if record is None else record
        content = self._content(f"{name}.parquet", record)
        with failing(f"{self.path / name}.parquet: cannot be read", self._remedy):
            return read_arrow(content)

    def tensors(self, record: Json) -> "dict[str, Tensor]":
        """The final weights, 'w', and the statistics of norm layers; empty if none were kept."""
        from safetensors.torch import load

        name = "model.safetensors"
        return load(self._content(name, record)) if name in record.get("files", {}) else {}

    @property
    def _remedy(self) -> str:
        """What to do about a damaged file, as the end of a sentence."""
        return f"delete the folder {self.path} to train the run again"

    def damaged(self, name: str, said: str) -> FedbenchError:
        """The error for a damaged file of the run, with what to do about it."""
        return FedbenchError(f"{self.path / name}: {said}; {self._remedy}")

    def _content(self, name: str, record: Json) -> bytes:
        """A file's bytes; raises `FedbenchError` unless they are those that the run wrote."""
        file = self.path / name
        with failing(f"{file}: cannot be read", self._remedy):
            content = file.read_bytes()
        checksum = record.get("files", {}).get(name)
        if checksum and hashlib.sha256(content).hexdigest() != checksum:
            raise self.damaged(name, "is not the file that the run wrote, by its sha256")
        return content

    def finish(
        self,
        record: Json,
        history: pd.DataFrame | pa.Table,
        tensors: "Mapping[str, Tensor]",
        tables: Mapping[str, pd.DataFrame | pa.Table],
    ) -> None:
        """Write all files, run.json with their checksums and its own last, then no checkpoint."""
        all_tables = {**tables, "rounds": history}
        contents = {f"{name}.parquet": to_parquet(table) for name, table in all_tables.items()}
        if tensors:
            from safetensors.torch import save

            plain = {name: each.detach().cpu().contiguous() for name, each in tensors.items()}
            contents["model.safetensors"] = save(plain)
        for name, content in contents.items():
            files.write_bytes(self.path / name, content)
        sums = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
        whole = with_checksum({**record, "files": sums})
        files.write_json(self.path / "run.json", whole)
        self.forget_checkpoint()

    def forget_checkpoint(self) -> None:
        """Delete the checkpoint, if any; it may be as large as the states of all clients."""
        (self.path / CHECKPOINT).unlink(missing_ok=True)


@contextmanager
def locked(folder: RunFolder, say: Callable[[str], None] = print) -> Iterator[None]:
    """Hold the folder: another process that trains the same run waits until this one has ended.

    What a killed process had not written to its end is deleted. On a file system without locks
    nothing is held. The process that holds the folder may enter again.
    """
    file = folder.path / ".lock"
    lock = FileLock(file, is_singleton=True, fallback_to_soft=False)
    first = not lock.is_locked
    with suppress(OSError, NotImplementedError):
        _acquire(lock, folder, say)
    try:
        if first and lock.is_locked:
            for partial in files.matching(folder.path, f".*{files.PARTIAL}"):
                with suppress(OSError):
                    partial.unlink()
        yield
    finally:
        if first and lock.is_locked:
            with suppress(OSError):
                file.unlink()
        lock.release()


def _acquire(lock: FileLock, folder: RunFolder, say: Callable[[str], None]) -> None:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        say(f"{folder.path}: another process trains this run; waiting until it has ended")
        try:
            lock.acquire(poll_interval=_PAUSE, cancel_check=lambda: bool(signals.requested()))
        except Timeout:
            signals.stop_if_requested(f"while another process trained the run in {folder.path}")

"""How far a run has come, as its folder says, also while another machine trains it."""

import json
import os
import socket
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from fedbench.base.errors import FedbenchError, short
from fedbench.base.files import exists, read_json, read_text, write_text
from fedbench.base.plugins import KINDS, nearby, plugin_folders
from fedbench.base.processes import alive, began
from fedbench.store.run import CHECKPOINT, RunFolder

_SIGN = "running.json"
_PAUSE = 2.0  # seconds between two signs of life
_SILENT = 1800.0  # seconds without a sign after which a process of another machine counts as ended


class Status(StrEnum):
    """What a run's folder says of the run."""

    waiting = "waiting"
    running = "running"
    stopped = "stopped"  # its process ended without an error of the run: killed, or out of memory
    failed = "failed"
    finished = "finished"
    diverged = "diverged"


@dataclass(frozen=True)
class RunState:
    """The status, the last round known, the seconds of a complete run, and why a run failed."""

    status: Status
    round: int = 0
    seconds: float = 0.0
    why: str = ""

    @property
    def complete(self) -> bool:
        """Whether the run has been trained to its end, or diverged."""
        return self.status in (Status.finished, Status.diverged)


def state(folder: RunFolder) -> RunState:
    """What the folder says; a damaged record counts as failed."""
    try:
        return _state(folder)
    except FedbenchError as error:
        return RunState(Status.failed, why=str(error))


def _state(folder: RunFolder) -> RunState:
    if (record := folder.record()) is not None:
        seconds = sum(record["seconds"].values())
        return RunState(Status(record["status"]), record["rounds"], seconds)
    sign = _sign(folder)
    round_ = int(sign["round"]) if sign else 0
    if sign and _alive(sign):
        return RunState(Status.running, round_)
    if exists(failure_file(folder)):
        lines = filter(str.strip, read_text(failure_file(folder)).split("\n"))
        return RunState(Status.failed, why=["no reason was written", *lines][-1])
    stopped = sign or exists(folder.path / CHECKPOINT)
    return RunState(Status.stopped if stopped else Status.waiting, round_)


@contextmanager
def signs_of_life(folder: RunFolder) -> Iterator[Callable[[int], None]]:
    """Say in the folder, until the end, that this process trains the run, and at which round."""
    who = {"host": socket.gethostname(), "pid": os.getpid(), "began": began(os.getpid())}
    last = 0.0

    def write(round_: int) -> None:
        nonlocal last
        last = time.time()
        write_text(folder.path / _SIGN, json.dumps(who | {"at": last, "round": round_}))

    def beat(round_: int) -> None:
        if time.time() - last >= _PAUSE:
            with suppress(OSError, FedbenchError):  # a disk that is full meanwhile stops no run
                write(round_)

    write(0)
    try:
        yield beat
    finally:
        with suppress(OSError):
            (folder.path / _SIGN).unlink()


def left_by(folder: RunFolder, pid: int) -> bool:
    """Whether the process of this machine ended while it trained the run."""
    sign = _sign(folder) or {}
    return (sign.get("host"), sign.get("pid")) == (socket.gethostname(), pid)


def failure_file(folder: RunFolder) -> Path:
    """The file with the traceback of a run that failed; it is deleted to forget that."""
    return folder.path / "error.txt"


def note_failure(folder: RunFolder, error: Exception) -> Path:
    """Write the traceback into a file; its last line says what is wrong, and where in a plug-in."""
    file, said = failure_file(folder), str(error)
    with suppress(OSError, FedbenchError):  # on a full disk the other runs go on
        if not isinstance(error, FedbenchError):
            own = [x.root / kind.folder for x in plugin_folders() for kind in KINDS.values()]
            where = ""
            for frame in traceback.extract_tb(error.__traceback__):
                place = Path(frame.filename)
                if any(map(place.is_relative_to, own)):
                    where = f"{nearby(place)}, line {frame.lineno}; "
            said = f"{short(error)} ({where}traceback: {file})"
        lines = "".join(traceback.format_exception(error))
        write_text(file, f"{lines}\n{' '.join(said.split())}\n")
    return file


def _sign(folder: RunFolder) -> dict[str, Any] | None:
    """The last sign of life; None without one, or if it was deleted or damaged meanwhile."""
    try:
        sign = read_json(folder.path / _SIGN)
    except FedbenchError:
        return None
    return sign if {"host", "pid", "at", "round"} <= set(sign) else None


def _alive(sign: dict[str, Any]) -> bool:
    """Whether the process lives: asked of the system here, by the sign's age elsewhere."""
    if sign["host"] != socket.gethostname():
        return time.time() - float(sign["at"]) < _SILENT
    return alive(int(sign["pid"]), sign.get("began"))

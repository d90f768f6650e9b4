"""Images too many for memory: a file of pixels that is mapped into memory, and its manifest."""

import contextlib
import fcntl
import hashlib
import io
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, BinaryIO

import numpy as np
from pydantic import Field

from fedbench.base.checks import Strict
from fedbench.base.errors import FedbenchError, short
from fedbench.base.files import exists, require_writable, write_text
from fedbench.base.yamlfile import load
from fedbench.data.archive import checksum
from fedbench.data.photographs import Pixels

_REMEDY = "delete it to have the images decoded again"


Whole = Annotated[int, Field(ge=1)]


class Contents(Strict):
    """The manifest of a file of pixels: class names, and training and test images per class."""

    classes: tuple[str, ...]
    train: tuple[Whole, ...]
    test: tuple[Whole, ...]
    sha256: str = ""  # of the file of pixels


def is_complete(file: Path) -> bool:
    """Whether the pixels and their manifest exist; the manifest is written after the last pixel."""
    return exists(file) and exists(_manifest(file))


def write(file: Path, contents: Contents, images: Iterable[Pixels], side: int) -> None:
    """Write images (side, side, 3) one by one, training images first, as npy, and the manifest."""
    shape = (sum(contents.train) + sum(contents.test), 3, side, side)
    digest = hashlib.sha256()
    with growing(file) as stream:
        for block in _blocks(shape, images):
            stream.write(block)
            digest.update(block)
    whole = contents.model_copy(update={"sha256": digest.hexdigest()})
    write_text(_manifest(file), whole.model_dump_json(indent=1) + "\n")


def read(file: Path, name: str, side: int, classes: int) -> tuple[Pixels, Contents]:
    """The images (N, side, side, 3), mapped into memory, and their manifest.

    Changes in memory never reach the disk. The file stores channels first, as networks take them,
    so that nothing needs to be copied. Raises `FedbenchError` if the file and its manifest do not
    fit each other.
    """
    contents = load(_manifest(file), Contents)
    if not len(contents.classes) == len(contents.train) == len(contents.test) == classes:
        raise FedbenchError(
            f"{_manifest(file)}: classes, train and test must have {classes} entries each; "
            f"{_REMEDY}"
        )
    pixels = _open(file, f"{name} ({file})")
    expected = (sum(contents.train) + sum(contents.test), 3, side, side)
    if pixels.shape != expected or pixels.dtype != np.uint8:
        raise FedbenchError(
            f"{name} ({file}): the file holds {pixels.dtype} of shape {pixels.shape}; by "
            f"{_manifest(file).name} it must be uint8 of shape {expected}; {_REMEDY}"
        )
    if checksum(file) != contents.sha256:
        raise FedbenchError(
            f"{name} ({file}): the file does not have the sha256 that {_manifest(file).name} "
            f"says; {_REMEDY}"
        )
    return pixels.transpose(0, 2, 3, 1), contents


def _open(file: Path, where: str) -> Pixels:
    try:
        return np.lib.format.open_memmap(file, mode="c")
    except Exception as error:  # header, mapping and disk raise different exceptions
        raise FedbenchError(
            f"{where}: the file is not a readable npy array ({short(error)}); {_REMEDY}"
        ) from error


def _manifest(file: Path) -> Path:
    return file.with_suffix(".json")


def _blocks(shape: tuple[int, ...], images: Iterable[Pixels]) -> Iterator[bytes]:
    head = io.BytesIO()
    facts = {"descr": "|u1", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(head, facts)
    yield head.getvalue()
    for image in images:
        yield image.transpose(2, 0, 1).tobytes()


@contextlib.contextmanager
def growing(path: Path) -> Iterator[BinaryIO]:
    """A stream into a partial file beside `path`, which it replaces if the block raises nothing.

    The partial file of a killed process is overwritten by the next one, so that they do not pile
    up; a process that raises deletes its own. Raises `FedbenchError` if the disk is full or cannot
    be written to, or if another process is writing the file.
    """
    require_writable(path.parent)
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("ab") as stream:
            _lock(stream, part, path)
            stream.truncate(0)
            try:
                yield stream
                stream.flush()
                part.replace(path)
            except BaseException:
                part.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise FedbenchError(f"{path}: cannot be written ({error.strerror})") from error


def _lock(stream: BinaryIO, part: Path, path: Path) -> None:
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)  # released when the process ends
        if not _is_at(part, stream):  # another process ended it between the opening and the lock
            raise BlockingIOError
    except BlockingIOError:
        raise FedbenchError(
            f"{path}: another process is writing it; wait until it has ended"
        ) from None


def _is_at(path: Path, stream: BinaryIO) -> bool:
    """Whether the file at this path is the one that the stream writes."""
    try:
        return os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except FileNotFoundError:
        return False

"""Decodes photographs to uint8 colour arrays."""

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from fedbench.base.errors import FedbenchError

Pixels = NDArray[np.uint8]


def decode(content: bytes, where: str, side: int | None = None) -> Pixels:
    """An image file as (H, W, 3); `side` scales the shorter side to it and crops the middle.

    Grey images become colour. Raises `FedbenchError` if it cannot be decoded to its end.
    """
    try:
        with Image.open(io.BytesIO(content)) as image:
            found = image.convert("RGB")
    except Exception as error:  # Pillow's decoders raise as they please on damaged files
        raise FedbenchError(
            f"{where}: the file is not a readable image ({type(error).__name__}); "
            "put a sound one in its place"
        ) from error
    if side is not None:
        found = ImageOps.fit(found, (side, side), Image.Resampling.BILINEAR)
    return np.asarray(found)


def read(file: Path, side: int) -> Pixels:
    """A file's image, (side, side, 3)."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise FedbenchError(f"{file}: cannot be read ({error.strerror})") from None
    return decode(content, str(file), side)

"""Decodes files of photographs into arrays of colour pixels, uint8."""

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from fedbench.base.errors import FedbenchError

Pixels = NDArray[np.uint8]


def decode(content: bytes, where: str, side: int | None = None) -> Pixels:
    """The pixels of an image file, (H, W, 3); grey images become colour.

    With `side`, the shorter side is scaled to `side` pixels and the middle is cropped. Raises
    `FedbenchError` if the file cannot be decoded to its end.
    """
    try:
        with Image.open(io.BytesIO(content)) as image:
            pixels = image.convert("RGB")
    except Exception as error:  # Pillow raises exceptions of many kinds on damaged files
        raise FedbenchError(
            f"{where}: the file is not a readable image ({type(error).__name__}); "
            "put a sound one in its place"
        ) from error
    if side is not None:
        pixels = ImageOps.fit(pixels, (side, side), Image.Resampling.BILINEAR)
    return np.asarray(pixels)


def read(file: Path, side: int) -> Pixels:
    """The pixels of the image in a file, (side, side, 3); see `decode`."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise FedbenchError(f"{file}: cannot be read ({error.strerror})") from None
    return decode(content, str(file), side)

"""Checks of a data set's arrays; each error names the file, the array and what is allowed."""

from collections.abc import Set
from typing import Any

import numpy as np

from fedbench.base.errors import FedbenchError

_PIXELS = ("uint8", "float32", "float64")
_REALS = ("float32", "float64")
_DEEPEST = 4  # channels of pictures: grey, grey with alpha, colour, colour with alpha


def check_features(where: str, name: str, x: Any) -> None:
    """Refuse anything but a non-empty array of uint8 or finite float images or feature vectors."""
    _check_array(where, name, x)
    if x.dtype.name not in _PIXELS:
        raise FedbenchError(
            f"{where}: {name} has dtype {x.dtype}; it must be one of {', '.join(_PIXELS)}"
        )
    if x.ndim not in (2, 3, 4):
        raise FedbenchError(
            f"{where}: {name} has shape {x.shape}; "
            "it must be (N, features), (N, H, W) or (N, H, W, channels)"
        )
    _check_finite(where, name, x)


def check_groups(where: str, name: str, groups: Any, samples: int) -> None:
    """Refuse anything but None, and one whole number ≥ 0 for each sample."""
    if groups is None:
        return
    whole = isinstance(groups, np.ndarray) and groups.dtype.kind in "iu"
    if not whole or groups.shape != (samples,) or (groups < 0).any():
        raise FedbenchError(f"{where}: {name} must be {samples} whole numbers ≥ 0, one per sample")


def channels_last(where: str, name: str, x: Any, channels: str | None) -> Any:
    """Images (N, H, W, C), whose order `channels` names; refuses an order that nobody may mean."""
    if channels not in ("first", "last", None):
        raise FedbenchError(
            f"{where}: channels = {channels!r} is not allowed; it must be 'first' or 'last'"
        )
    shape: tuple[int, ...] = x.shape if isinstance(x, np.ndarray) else ()
    doubtful = seems_channels_first(shape)
    if doubtful and not channels:
        raise FedbenchError(
            f"{where}: {name} has shape {shape}; in the order (N, H, W, C) that is images of "
            f"{shape[1]} × {shape[2]} pixels with {shape[3]} channels; if the order is "
            "(N, C, H, W), say `channels: first`, else `channels: last`"
        )
    backwards = seems_channels_first((*shape[:1], *shape[:0:-1]))
    fits = {"first": len(shape) == 4 and not backwards, "last": doubtful}
    if channels and not fits[channels]:
        raise FedbenchError(
            f"{where}: channels = {channels!r} is not needed, for {name} has shape {shape}; leave "
            "it out"
        )
    return np.moveaxis(x, 1, -1) if channels == "first" else x


def seems_channels_first(shape: tuple[int, ...]) -> bool:
    """Whether images of this shape, read as (N, H, W, C), would be such as there are none."""
    if len(shape) != 4:
        return False
    _, high, wide, deep = shape
    return deep > _DEEPEST and (high <= _DEEPEST < wide or high != wide == deep)


def check_tokens(where: str, name: str, x: Any, vocabulary: int) -> None:
    """Refuse anything but a non-empty matrix of token ids 0…vocabulary−1."""
    _check_array(where, name, x)
    if x.ndim != 2 or x.dtype.kind not in "iu":
        raise FedbenchError(
            f"{where}: {name} is {x.dtype} of shape {x.shape}; "
            "token ids must be integers (N, tokens)"
        )
    outside = np.argwhere((x < 0) | (x >= vocabulary))
    if len(outside):
        place = tuple(int(i) for i in outside[0])
        raise FedbenchError(
            f"{where}: {name} has token {x[place]} at {place}; token ids must be 0…{vocabulary - 1}"
        )


def check_labels(where: str, name: str, y: Any, classes: int) -> None:
    """Refuse anything but integers in 0…classes−1, or finite floats if there are no classes."""
    _check_array(where, name, y)
    if y.ndim != 1:
        raise FedbenchError(f"{where}: {name} has shape {y.shape}; it must be (N,)")
    if classes == 0:
        if y.dtype.name not in _REALS:
            raise FedbenchError(
                f"{where}: {name} has dtype {y.dtype}; without classes it must be one of "
                f"{', '.join(_REALS)}"
            )
        _check_finite(where, name, y)
        return
    if y.dtype.kind not in "iu":
        raise FedbenchError(
            f"{where}: {name} has dtype {y.dtype}; labels of {classes} classes must be integers"
        )
    outside = np.flatnonzero((y < 0) | (y >= classes))
    if len(outside):
        raise FedbenchError(
            f"{where}: {name} has label {y[outside[0]]} at position {outside[0]}; "
            f"labels must be 0…{classes - 1}"
        )


def check_all_classes(what: str, labels: Set[Any], name: str, classes: int) -> None:
    """Refuse fewer or more different labels than the data set `name` has; `what` has them."""
    if len(labels) != classes:
        raise FedbenchError(f"{what} {len(labels)} different labels; {name} has {classes}")


def check_normalisation(
    where: str, mean: tuple[float, ...], std: tuple[float, ...], channels: int
) -> None:
    """Refuse means and deviations that are not one per channel, and deviations that are not > 0."""
    for name, values in (("mean", mean), ("std", std)):
        if len(values) != channels or not np.isfinite(values).all():
            raise FedbenchError(
                f"{where}: normalisation {name} = {values} is not allowed; "
                f"it must be {channels} finite numbers, one per channel"
            )
    if min(std) <= 0:
        raise FedbenchError(f"{where}: normalisation std = {std} is not allowed; it must be > 0")


def _check_array(where: str, name: str, value: Any) -> None:
    if not isinstance(value, np.ndarray):
        raise FedbenchError(
            f"{where}: {name} is a {type(value).__name__}; it must be a NumPy array"
        )
    if value.size == 0:
        raise FedbenchError(
            f"{where}: {name} has shape {value.shape} and is empty; it needs at least one sample"
        )


def _check_finite(where: str, name: str, value: Any) -> None:
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        first = tuple(int(i) for i in np.argwhere(~np.isfinite(value))[0])
        raise FedbenchError(
            f"{where}: {name} has {value[first]} at {first}; every value must be finite"
        )

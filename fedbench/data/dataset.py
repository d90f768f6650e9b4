"""The data set that every source returns: four checked arrays, and where they came from."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbench.base.errors import FedbenchError, at

Features = NDArray[np.uint8] | NDArray[np.float32] | NDArray[np.float64] | NDArray[np.int64]
Labels = NDArray[np.int64] | NDArray[np.float32] | NDArray[np.float64]
_PIXELS = ("uint8", "float32", "float64")
_REALS = ("float32", "float64")
_DEEPEST = 4  # channels of pictures: grey, grey with alpha, colour, colour with alpha
_CHUNK = 4096  # samples copied at a time, where an array is not contiguous in memory


class Inputs(NamedTuple):
    """What a model is built for: the shape of a sample, the classes and, for text, the vocabulary.

    `shape` is (channels, height, width), (features,) or, with a vocabulary, (tokens,).
    """

    shape: tuple[int, ...]
    classes: int
    vocabulary: int = 0  # > 0 for text: token ids are 0…vocabulary−1, and 0 is padding

    @property
    def outputs(self) -> int:
        """The numbers that a model gives for a sample: one per class, or one without classes."""
        return self.classes or 1

    @property
    def words(self) -> str:
        """What the samples are, as text: 'images of (channels, height, width) = (3, 32, 32)'."""
        if self.vocabulary:
            return f"texts of {self.shape[0]} token ids"
        if len(self.shape) == 1:
            return f"rows of {self.shape[0]} numbers"
        return f"images of (channels, height, width) = {self.shape}"


class Normalisation(NamedTuple):
    """Mean and standard deviation of each channel, in units of pixel / 255."""

    mean: tuple[float, ...]
    std: tuple[float, ...]  # > 0


@dataclass(frozen=True)
class Dataset:
    """A training and a test set in memory.

    `x_*` are images (N, H, W) or (N, H, W, channels), uint8 in 0…255 or finite floats, or features
    (N, features), or with a `vocabulary` token ids (N, tokens) of 0…vocabulary−1 stored as int64,
    0 being padding; `y_*` are integers (N,) in 0…classes−1, stored as int64. A problem worked by
    hand may have `classes=0`, "no classes": its labels are finite floats (N,). `origin` says where
    the arrays came from (source, file, sha256). `normalisation` is what the literature usually
    applies to the pixels; a run applies it if its setting `normalise` says so. `x_held_out` and
    `y_held_out` are an official validation set, where there is one: a run that validates then
    holds out no training sample. `groups` says by a number ≥ 0 whose each training sample is, a
    user's, writer's or site's, and `groups_test` of each test sample: the partition
    `natural` makes clients of them. Images (N, channels, H, W) are taken with `channels="first"`,
    and are (N, H, W, channels) then; without it a shape such as (N, 3, 32, 32) is refused, unless
    `channels="last"` says that it is meant. Raises `FedbenchError` if shapes, types, ranges or
    lengths do not fit.
    """

    name: str
    x_train: Features
    y_train: Labels
    x_test: Features
    y_test: Labels
    classes: int  # ≥ 0; 0 means float labels
    origin: Mapping[str, str] = field(default_factory=dict)
    normalisation: Normalisation | None = None
    vocabulary: int = 0  # > 0 only for text
    columns: tuple[str, ...] = ()  # names of the features, if the file names them
    x_held_out: Features | None = None
    y_held_out: Labels | None = None
    groups: NDArray[np.int64] | None = None
    groups_test: NDArray[np.int64] | None = None
    channels: Literal["first", "last"] | None = None

    def __post_init__(self) -> None:
        words = {str(key): str(value) for key, value in self.origin.items()}
        object.__setattr__(self, "origin", words)  # as a run's record has them
        file = words.get("file")
        with at(f"{self.name} ({file})" if file else self.name):
            self._check()

    def __repr__(self) -> str:
        classes = f"{self.classes} classes" if self.classes else "no classes"
        held_out = "" if self.y_held_out is None else f" + {len(self.y_held_out):,} validation"
        counts = f"{len(self.y_train):,} training{held_out} + {len(self.y_test):,} test"
        of = "" if self.groups is None else f" of {len(np.unique(self.groups)):,} groups"
        return f"Dataset({self.name!r}: {counts} {self.inputs.words}{of}, {classes})"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one sample as a network sees it: (channels, H, W) or (features,)."""
        sample = self.x_train.shape[1:]
        if len(sample) == 3:
            return (sample[2], sample[0], sample[1])
        return (1, *sample) if len(sample) == 2 else sample

    @property
    def pixels(self) -> bool:
        """Whether `x_*` are pixels 0…255: uint8 images. The numbers of a table never are."""
        return bool(self.x_train.dtype == np.uint8 and len(self.shape) == 3)

    @property
    def inputs(self) -> Inputs:
        """What a model is built for."""
        return Inputs(self.shape, self.classes, self.vocabulary)

    @cached_property
    def checksum(self) -> str:
        """The sha256 of all that a run can see of the data: it tells versions of a set apart."""
        digest = hashlib.sha256(repr((self.inputs, self.normalisation)).encode())
        if self.x_train.dtype == np.uint8 and not self.pixels:
            digest.update(b"unscaled")  # runs that divided such tables by 255 saw other data
        more = (self.x_held_out, self.y_held_out, self.groups, self.groups_test)
        given = [each for each in more if each is not None]
        for array in (self.x_train, self.y_train, self.x_test, self.y_test, *given):
            digest.update(f"{array.dtype.str} {array.shape}".encode())
            for first in range(0, len(array), _CHUNK):
                digest.update(np.ascontiguousarray(array[first : first + _CHUNK]).data)
        return digest.hexdigest()

    def _check(self) -> None:
        if type(self.classes) is not int or self.classes < 0:
            raise FedbenchError(f"classes = {self.classes!r}; it must be a whole number ≥ 0")
        subsets = ["train", "test"] + ["held_out"] * (self.x_held_out is not None)
        for subset in subsets:
            self._check_samples(f"x_{subset}", f"y_{subset}")
        doubtful = _seems_channels_first(self.x_train.shape)  # what is there now
        object.__setattr__(self, "channels", "last" if doubtful else None)
        for name in (f"x_{subset}" for subset in subsets[1:]):
            both = getattr(self, name), self.x_train
            kind, usual = (f"{x.dtype} and shape {x.shape[1:]}" for x in both)
            if kind != usual:
                raise FedbenchError(f"{name} has samples of {kind}, but x_train of {usual}")
        columns = len(self.columns)
        if columns and columns != self.shape[0]:
            raise FedbenchError(f"{columns} columns are named; x_train has {self.shape[0]}")
        _check_groups("groups", self.groups, len(self.y_train))
        _check_groups("groups_test", self.groups_test, len(self.y_test))
        if self.normalisation is not None:
            if not self.pixels:
                said = "normalisation is of images of uint8; others are scaled by their moments"
                raise FedbenchError(f"{said}: leave it out")
            _check_normalisation(self.normalisation, self.shape[0])

    def _check_samples(self, x_name: str, y_name: str) -> None:
        """Check samples and their labels, and keep them in the types that all code expects."""
        x, y = (_native(name, getattr(self, name)) for name in (x_name, y_name))
        x = _channels_last(x_name, x, self.channels)
        fits = x.dtype.name in _PIXELS and x.ndim in (2, 3, 4)
        rule = f"it must be one of {', '.join(_PIXELS)}, as (N, features), (N, H, W), (N, H, W, C)"
        if self.vocabulary:
            fits = x.dtype.kind in "iu" and x.ndim == 2
            rule = "token ids must be integers (N, tokens)"
        _check_values(x_name, x, "token", self.vocabulary, "" if fits else rule)
        fits = y.dtype.kind in "iu" if self.classes else y.dtype.name in _REALS
        allowed = "integers" if self.classes else " or ".join(_REALS)
        rule = f"labels of {self.classes or 'no'} classes must be {allowed} (N,)"
        _check_values(y_name, y, "label", self.classes, "" if fits and y.ndim == 1 else rule)
        if len(x) != len(y):
            raise FedbenchError(f"{x_name} has {len(x)} samples, but {y_name} {len(y)} labels")
        object.__setattr__(self, x_name, x.astype(np.int64, copy=False) if self.vocabulary else x)
        object.__setattr__(self, y_name, y.astype(np.int64, copy=False) if self.classes else y)


def _native(name: str, value: Any) -> Any:
    """An array in the byte order of this machine, the only one that PyTorch takes."""
    if not isinstance(value, np.ndarray) or isinstance(value, np.ma.MaskedArray):
        raise FedbenchError(f"{name} is a {type(value).__name__}; it must be a NumPy array")
    if value.size == 0:
        raise FedbenchError(f"{name} is empty: its shape is {value.shape}")
    return value.astype(value.dtype.newbyteorder("="), copy=False)


def _channels_last(name: str, x: Any, channels: str | None) -> Any:
    """Images (N, H, W, C), whose order `channels` names; refuses an order that nobody may mean."""
    if channels not in ("first", "last", None):
        raise FedbenchError(f"channels = {channels!r}; it must be 'first' or 'last'")
    shape: tuple[int, ...] = x.shape
    doubtful = _seems_channels_first(shape)
    if doubtful and not channels:
        raise FedbenchError(
            f"{name} has shape {shape}: with {shape[3]} channels if it is (N, H, W, C); say "
            "`channels: last` if it is, or `channels: first` if it is (N, C, H, W)"
        )
    backwards = _seems_channels_first((*shape[:1], *shape[:0:-1]))
    fits = {"first": len(shape) == 4 and (doubtful or not backwards), "last": doubtful}
    if channels and not fits[channels]:
        raise FedbenchError(f"leave channels = {channels!r} out, for {name} has shape {shape}")
    return np.moveaxis(x, 1, -1) if channels == "first" else x


def _seems_channels_first(shape: tuple[int, ...]) -> bool:
    """Whether images of this shape, read as (N, H, W, C), would be such as there are none."""
    if len(shape) != 4:
        return False
    _, high, wide, deep = shape
    return deep > _DEEPEST and (high <= _DEEPEST < wide or wide == 1 < high or high != wide == deep)


def _check_values(name: str, values: Any, what: str, below: int, broken: str) -> None:
    """Refuse an array whose type and shape have broken a rule, and the first value that is bad."""
    if broken:
        raise FedbenchError(f"{name} has dtype {values.dtype} and shape {values.shape}; {broken}")
    bad, rule = np.array(False), f"{what}s must be 0…{below - 1}"
    if below:
        bad = (values < 0) | (values >= below)
    elif values.dtype.kind == "f":
        with np.errstate(over="ignore"):  # networks see 32 bits
            seen = values.astype(np.float32, copy=False)
        bad, what, rule = ~np.isfinite(seen), "", "every value must be finite, in 32 bits too"
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        said = f"{what} {values[place]} at position {', '.join(map(str, place))}"
        raise FedbenchError(f"{name} has {said}; {rule}")


def _check_groups(name: str, groups: Any, samples: int) -> None:
    if groups is None:
        return
    whole = isinstance(groups, np.ndarray) and groups.dtype.kind in "iu"
    if not whole or groups.shape != (samples,) or (groups < 0).any():
        raise FedbenchError(f"{name} must be {samples} whole numbers ≥ 0, one per sample")


def _check_normalisation(usual: Normalisation, channels: int) -> None:
    for name, values in usual._asdict().items():
        positive = name == "mean" or all(value > 0 for value in values)
        if len(values) != channels or not np.isfinite(values).all() or not positive:
            raise FedbenchError(
                f"normalisation {name} = {values}; it must be {channels} finite numbers, std > 0"
            )

"""The data set that every source returns: four checked arrays, and where they came from."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbench.base.errors import FedbenchError
from fedbench.data.checks import (
    channels_last,
    check_features,
    check_groups,
    check_labels,
    check_normalisation,
    check_tokens,
    seems_channels_first,
)

Features = NDArray[np.uint8] | NDArray[np.float32] | NDArray[np.float64] | NDArray[np.int64]
Labels = NDArray[np.int64] | NDArray[np.float32] | NDArray[np.float64]
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
        file = self.origin.get("file")
        where = f"{self.name} ({file})" if file else self.name
        if type(self.classes) is not int or self.classes < 0:
            raise FedbenchError(
                f"{where}: classes = {self.classes!r} is not allowed; it must be a whole number ≥ 0"
            )
        subsets = ["train", "test"] + ["held_out"] * (self.x_held_out is not None)
        for subset in subsets:
            self._check(where, subset)
        doubtful = seems_channels_first(self.x_train.shape)  # what is there now
        object.__setattr__(self, "channels", "last" if doubtful else None)
        for subset in subsets[1:]:
            self._check_train_against(where, subset)
        if self.columns and len(self.columns) != self.shape[0]:
            raise FedbenchError(
                f"{where}: {len(self.columns)} columns are named; x_train has {self.shape[0]}"
            )
        check_groups(where, "groups", self.groups, len(self.y_train))
        check_groups(where, "groups_test", self.groups_test, len(self.y_test))
        if self.normalisation is not None:
            check_normalisation(where, *self.normalisation, channels=self.shape[0])

    def __repr__(self) -> str:
        """One line: the name, how many samples of what, and the classes."""
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

    def _check(self, where: str, subset: str) -> None:
        x, y = (_native(getattr(self, f"{name}_{subset}")) for name in "xy")
        x = channels_last(where, f"x_{subset}", x, self.channels)
        if self.vocabulary:
            check_tokens(where, f"x_{subset}", x, self.vocabulary)
        else:
            check_features(where, f"x_{subset}", x)
        check_labels(where, f"y_{subset}", y, self.classes)
        if len(x) != len(y):
            raise FedbenchError(
                f"{where}: x_{subset} has {len(x)} samples and y_{subset} {len(y)} labels; "
                "each sample needs one label"
            )
        x = x.astype(np.int64, copy=False) if self.vocabulary else x
        y = y.astype(np.int64, copy=False) if self.classes else y
        object.__setattr__(self, f"x_{subset}", x)
        object.__setattr__(self, f"y_{subset}", y)

    def _check_train_against(self, where: str, subset: str) -> None:
        train, other = self.x_train, getattr(self, f"x_{subset}")
        for what, found, wanted in (
            ("samples of shape {}; they", other.shape[1:], train.shape[1:]),
            ("dtype {}; it", other.dtype, train.dtype),
        ):
            if found != wanted:
                said = what.format(found)
                raise FedbenchError(
                    f"{where}: x_{subset} has {said} must be {wanted} as in x_train"
                )


def _native(array: Any) -> Any:
    """An array in the byte order of this machine, the only one that PyTorch takes."""
    if not isinstance(array, np.ndarray):
        return array  # which the checks refuse
    return array.astype(array.dtype.newbyteorder("="), copy=False)

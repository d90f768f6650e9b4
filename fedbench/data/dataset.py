"""What every data source returns: four checked arrays and where they came from."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbench.base.errors import FedbenchError
from fedbench.data.checks import check_features, check_labels, check_normalisation, check_tokens

Features = NDArray[np.uint8] | NDArray[np.float32] | NDArray[np.float64] | NDArray[np.int64]
Labels = NDArray[np.int64] | NDArray[np.float32] | NDArray[np.float64]
_CHUNK = 4096  # samples that are copied at a time where they are not stored in one piece


class Inputs(NamedTuple):
    """What a model is built for: the shape of one sample, the classes and, of text, the words.

    `shape` is (channels, height, width), (features,) or, with a vocabulary, (tokens,).
    """

    shape: tuple[int, ...]
    classes: int
    vocabulary: int = 0  # of text: token ids are 0…vocabulary−1, and 0 is padding

    @property
    def words(self) -> str:
        """What the samples are, in words."""
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
    applies to the pixels; whether it is applied is the run's choice. `x_held_out`, `y_held_out` are
    an official validation set, where there is one: a run that validates then holds out no training
    sample. Raises `FedbenchError` if shapes, types, ranges or lengths do not fit.
    """

    name: str
    x_train: Features
    y_train: Labels
    x_test: Features
    y_test: Labels
    classes: int  # ≥ 0; 0 means float labels
    origin: Mapping[str, str] = field(default_factory=dict)
    normalisation: Normalisation | None = None
    vocabulary: int = 0  # > 0 only of text
    columns: tuple[str, ...] = ()  # names of a table's features, where they are known
    x_held_out: Features | None = None
    y_held_out: Labels | None = None

    def __post_init__(self) -> None:
        file = self.origin.get("file")
        where = f"{self.name} ({file})" if file else self.name
        if type(self.classes) is not int or self.classes < 0:
            raise FedbenchError(
                f"{where}: classes = {self.classes!r} is not allowed; it must be a whole number ≥ 0"
            )
        parts = ["train", "test"] + ["held_out"] * (self.x_held_out is not None)
        for part in parts:
            self._check(where, part)
        for part in parts[1:]:
            self._check_train_against(where, part)
        if self.columns and len(self.columns) != self.shape[0]:
            raise FedbenchError(
                f"{where}: {len(self.columns)} columns are named; x_train has {self.shape[0]}"
            )
        if self.normalisation is not None:
            check_normalisation(where, *self.normalisation, channels=self.shape[0])

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one sample as a network sees it: (channels, H, W) or (features,)."""
        sample = self.x_train.shape[1:]
        if len(sample) == 3:
            return (sample[2], sample[0], sample[1])
        return (1, *sample) if len(sample) == 2 else sample

    @property
    def inputs(self) -> Inputs:
        """What a model is built for."""
        return Inputs(self.shape, self.classes, self.vocabulary)

    @cached_property
    def checksum(self) -> str:
        """The sha256 of everything that a run can see: which version of the data this is."""
        found = hashlib.sha256(repr((self.inputs, self.normalisation)).encode())
        everything = (
            *(self.x_train, self.y_train, self.x_test, self.y_test),
            *(self.x_held_out, self.y_held_out),
        )
        for array in (array for array in everything if array is not None):
            found.update(f"{array.dtype.str} {array.shape}".encode())
            for first in range(0, len(array), _CHUNK):
                found.update(np.ascontiguousarray(array[first : first + _CHUNK]).data)
        return found.hexdigest()

    def _check(self, where: str, part: str) -> None:
        x, y = getattr(self, f"x_{part}"), getattr(self, f"y_{part}")
        if self.vocabulary:
            check_tokens(where, f"x_{part}", x, self.vocabulary)
            object.__setattr__(self, f"x_{part}", x.astype(np.int64, copy=False))
        else:
            check_features(where, f"x_{part}", x)
        check_labels(where, f"y_{part}", y, self.classes)
        if len(x) != len(y):
            raise FedbenchError(
                f"{where}: x_{part} has {len(x)} samples and y_{part} {len(y)} labels; "
                "each sample needs one label"
            )
        if self.classes:
            object.__setattr__(self, f"y_{part}", y.astype(np.int64, copy=False))

    def _check_train_against(self, where: str, part: str) -> None:
        train, other = self.x_train, getattr(self, f"x_{part}")
        if train.shape[1:] != other.shape[1:]:
            raise FedbenchError(
                f"{where}: x_{part} has samples of shape {other.shape[1:]}; "
                f"they must be {train.shape[1:]} as in x_train"
            )
        if train.dtype != other.dtype:
            raise FedbenchError(
                f"{where}: x_{part} has dtype {other.dtype}; it must be {train.dtype} as in x_train"
            )

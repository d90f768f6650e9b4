"""File: a data set that the user brings, as npz arrays or as a CSV table."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Gt, Lt
from numpy.typing import NDArray

from fedbench.base.checks import Natural
from fedbench.base.errors import FedbenchError, at
from fedbench.base.files import sha256_of
from fedbench.data import npz_and_csv_files
from fedbench.data.dataset import Dataset
from fedbench.data.npz_and_csv_files import Samples
from fedbench.data.source import Source


@dataclass(frozen=True)
class File(Source):
    """An npz file or a CSV table at `path`, relative to the data folder or absolute.

    npz: `x_train`, `y_train`, `x_test` and `y_test`, or `x` and `y`; x are images, in the order
    that `channels` names, or feature vectors as in `Dataset`. CSV: the first line names the
    columns; the column `label` (the last one if it is not given) holds the labels, all others hold
    finite numbers, or True and False, which are read as float32 and not scaled (a run's
    `normalise` scales them). Labels are whole numbers ≥ 0 or words and are numbered in sorted
    order; with `regression` they are numbers, and a model has one output. Where no test set is
    given, the share `test` of every class is drawn for it by `seed`; where one is given, other
    values of these two are refused.

    Whose a row is, a user's or site's, say the column `group` of a table and the array `groups` of
    an npz file (with `x_train`: `groups_train` and, if the test samples have owners,
    `groups_test`), in numbers or words: the partition `natural` makes clients of them. A test set
    is then drawn from each of them in place of each class.
    """

    numerics: ClassVar[dict[str, int]] = {"mlp": 4}  # tiny networks train in step

    path: str = ""  # ends in .npz or .csv
    label: str = ""  # a column of the CSV table
    group: str = ""  # another one, which says whose each row is
    regression: bool = False  # labels are numbers, not classes
    test_path: str = ""  # a second table, with the same columns, to test on
    test: Annotated[float, Gt(0), Lt(1)] = 0.2
    seed: Natural = 0
    channels: Literal["first", "last"] | None = None  # of images; None: last, if that is plain

    def load(self, folder: Path) -> Dataset:
        """Read the file; raises `FedbenchError` on anything it cannot train on."""
        file = _found(folder, self.path)
        parts, columns, label = self._read(file)
        origin = {"source": file.suffix.lower()[1:], "file": str(file)}
        origin |= {"label": label} if label else {}
        if self.test_path:
            more = _found(folder, self.test_path)
            test, found, _ = self._read(more)
            if len(parts) > 1 or len(test) > 1 or found != columns:
                here, there = (", ".join(each) or "arrays" for each in (columns, found))
                raise FedbenchError(
                    f"file ({file}): test_path = {self.test_path!r} needs two tables with the same "
                    f"columns; here they are {here} and {there}"
                )
            parts += test
            origin["test file"] = str(more)
        with at(f"file ({file})"):
            if label and not self.regression:  # "1" beside "01" is a word, in whichever table
                parts = npz_and_csv_files.typed(parts, label)
            if len(parts) == 1:
                parts, strata = self._split(parts[0])
                origin["test set"] = f"{self.test:g} of {strata}, drawn by seed {self.seed}"
            elif (self.test, self.seed) != (File.test, File.seed):  # it would make other runs
                given = f"test = {self.test:g}, seed = {self.seed}"
                there = "test_path names it" if self.test_path else "the file has x_test and y_test"
                raise FedbenchError(f"{given} has no effect on the test set, for {there}")
            if self.regression:
                classes, parts = np.array([]), [each._replace(y=_numbers(each.y)) for each in parts]
            else:
                classes, parts = npz_and_csv_files.numbered(["y_train", "y_test"], parts)
        labels = "numbers" if self.regression else ", ".join(map(str, classes))
        origin |= {"labels": labels, "sha256": sha256_of(file)}
        told: dict[str, Any] = {"columns": columns, "channels": self.channels, "origin": origin}
        return npz_and_csv_files.dataset("file", *parts, classes=len(classes), **told)

    def files(self, folder: Path) -> tuple[Path, ...]:
        """The files that are read."""
        paths = [self.path] + [self.test_path] * bool(self.test_path)
        return tuple(folder / Path(path).expanduser() for path in paths)

    def _read(self, file: Path) -> tuple[list[Samples], tuple[str, ...], str]:
        """All samples, or those to train and to test on; a table's features and labels by name."""
        if file.suffix.lower() == ".csv":
            with at(f"file ({file})"):
                uses = self.label, self.group, self.regression
                samples, columns, label = npz_and_csv_files.read_csv(file, *uses)
            return [samples], columns, label
        for name in ("label", "group"):
            if value := getattr(self, name):
                raise FedbenchError(f"File: {name} = {value!r}, but {file} has arrays, not columns")
        groups = ("groups", "groups_train", "groups_test")
        held = npz_and_csv_files.read_npz(file, "file", fewer=("x", "y"), optional=groups)
        if "x" in held:
            return [Samples(held["x"], held["y"], held.get("groups"))], (), ""
        if "groups_train" not in held and any(name in held for name in groups):
            raise FedbenchError(f"file ({file}): x_train needs groups_train, beside it groups_test")
        parts = [
            Samples(held[f"x_{part}"], held[f"y_{part}"], held.get(f"groups_{part}"))
            for part in ("train", "test")
        ]
        return parts, (), ""

    def _split(self, whole: Samples) -> tuple[list[Samples], str]:
        """A training and a test set, and of what the test set is a share."""
        strata, of = whole.y, "every class"
        if self.regression:
            strata, of = np.zeros(whole.x.shape[:1]), "all rows"
        else:
            npz_and_csv_files.different("y", whole.y)
        if whole.groups is not None:
            strata, of = whole.groups, "every group"
        return npz_and_csv_files.split(whole, strata, self.test, self.seed), of


def _found(folder: Path, path: str) -> Path:
    file = folder / Path(path).expanduser()
    if file.suffix.lower() not in (".npz", ".csv"):
        raise FedbenchError(f"File: path = {path!r} is not allowed; it must end in .npz or .csv")
    if not file.is_file():
        here = "; it is in the working folder: give `--data-dir .` or an absolute path"
        said = f"file ({file}): there is no such file; `path` must name one"
        raise FedbenchError(said + here * Path(path).is_file())
    return file


def _numbers(y: NDArray[Any]) -> NDArray[Any]:
    if y.ndim != 1 or y.dtype.kind not in "iuf":
        raise FedbenchError(f"labels are {y.dtype} of shape {y.shape}; they must be numbers (N,)")
    return y.astype(np.float32)

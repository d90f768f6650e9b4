"""File: a data set that the user brings, as npz arrays or as a CSV table."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Gt, Lt
from numpy.typing import NDArray

from fedbench.base.checks import Natural
from fedbench.base.errors import FedbenchError
from fedbench.base.files import sha256_of
from fedbench.data import archive
from fedbench.data.csvfile import MISSING, read_csv
from fedbench.data.dataset import Dataset
from fedbench.data.source import Source

_PAIR = ("x", "y")
_GROUPS = ("groups", "groups_train", "groups_test")
_ENDINGS = (".npz", ".csv")


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
        file = self._file(folder)
        where, origin = f"file ({file})", {"source": file.suffix.lower()[1:], "file": str(file)}
        arrays, columns, label = self._contents(file, where)
        origin |= {"label": label} if label else {}
        if self.test_path:
            arrays = self._with_test_table(folder, where, arrays, columns)
            origin["test file"] = str(self.files(folder)[1])
        if "y" in arrays:
            self._require_labels(where, "y", arrays["y"])
            arrays = self._split(where, arrays)
            strata = "all rows" if self.regression else "every class"
            strata = "every group" if "groups_train" in arrays else strata
            origin["test set"] = f"{self.test:g} of {strata}, drawn by seed {self.seed}"
        else:
            self._require_used(where)
        classes = self._require_labels(where, "y_train", arrays["y_train"])
        y_train, y_test = (
            arrays[name].astype(np.float32)
            if self.regression
            else numbered(f"{where}: {name}", arrays[name], classes)
            for name in ("y_train", "y_test")
        )
        groups, groups_test = _numbered_groups(where, arrays)
        told = "numbers" if self.regression else ", ".join(map(str, classes))
        origin |= {"labels": told, "sha256": sha256_of(file)}
        return Dataset(
            "file", arrays["x_train"], y_train, arrays["x_test"], y_test,
            classes=len(classes), origin=origin, columns=columns, channels=self.channels,
            groups=groups, groups_test=groups_test,
        )  # fmt: skip

    def _require_labels(self, where: str, name: str, y: archive.Array) -> NDArray[Any]:
        """The classes, none for regression; refuses labels of another kind."""
        if not self.regression:
            return different(f"{where}: {name}", y)
        if y.ndim != 1 or y.dtype.kind not in "iuf":
            raise FedbenchError(f"{where}: {name} is {y.dtype}; for regression it must be numbers")
        return np.array([])

    def _with_test_table(
        self, folder: Path, where: str, train: archive.Arrays, columns: tuple[str, ...]
    ) -> archive.Arrays:
        other = replace(self, path=self.test_path, test_path="")
        file = other._file(folder)
        test, found, _ = other._contents(file, f"file ({file})")
        if "y" not in train or "y" not in test or found != columns:
            raise FedbenchError(
                f"{where}: test_path = {self.test_path!r} needs two tables with the same columns; "
                f"here they are {', '.join(columns) or 'arrays'} and {', '.join(found) or 'arrays'}"
            )
        named = {"train": train, "test": test}
        return {f"{k}_{subset}": v for subset, each in named.items() for k, v in each.items()}

    def _require_used(self, where: str) -> None:
        """Refuse what draws a test set where the file brings one: it would make other runs."""
        for field in ("test", "seed"):
            value, usual = getattr(self, field), getattr(File, field)
            if value != usual:
                raise FedbenchError(
                    f"{where}: {field} = {value:g} has no effect, for the file has x_test and "
                    "y_test; leave it out"
                )

    def files(self, folder: Path) -> tuple[Path, ...]:
        """The files that are read."""
        paths = [self.path, self.test_path] if self.test_path else [self.path]
        return tuple(folder / Path(path).expanduser() for path in paths)

    def _file(self, folder: Path) -> Path:
        file = self.files(folder)[0]
        if file.suffix.lower() not in _ENDINGS:
            raise FedbenchError(
                f"File: path = {self.path!r} is not allowed; it must name a file that ends in "
                f"{' or '.join(_ENDINGS)}"
            )
        if not file.is_file():
            here = "; it is in the working folder: give `--data-dir .` or an absolute path"
            raise FedbenchError(
                f"file ({file}): there is no such file; `path` must name one"
                + here * Path(self.path).is_file()
            )
        return file

    def _contents(self, file: Path, where: str) -> tuple[archive.Arrays, tuple[str, ...], str]:
        """The arrays, and for a table the names of its features and of its labels' column."""
        if file.suffix.lower() == ".csv":
            rows = read_csv(file, where, self.label, self.group, self.regression)
            groups = {} if rows.groups is None else {"groups": rows.groups}
            return {"x": rows.x, "y": rows.y, **groups}, rows.columns, rows.label
        for name, arrays in (("label", "y_train and y_test, or y"), ("group", "in groups")):
            if value := getattr(self, name):
                raise FedbenchError(
                    f"File: {name} = {value!r} is not allowed; {file} is not a table: its {name}s "
                    f"are {arrays}"
                )
        return archive.read(file, "file", fewer=_PAIR, optional=_GROUPS), (), ""

    def _split(self, where: str, arrays: archive.Arrays) -> archive.Arrays:
        x, y, groups = arrays["x"], arrays["y"], arrays.get("groups")
        if x.shape[:1] != y.shape:
            raise FedbenchError(
                f"{where}: x has shape {x.shape} and y {y.shape}; each sample needs one label"
            )
        if groups is not None and groups.shape != y.shape:
            raise FedbenchError(
                f"{where}: groups has shape {groups.shape} and y {y.shape}; each sample needs one"
            )
        strata = np.zeros(len(y)) if self.regression else y
        test = set_apart(strata if groups is None else groups, self.test, self.seed)
        if not test.any():
            raise FedbenchError(
                f"{where}: test = {self.test} of {len(y)} samples is none; it must be larger"
            )
        of = {} if groups is None else {"groups_train": groups[~test], "groups_test": groups[test]}
        split = {"x_train": x[~test], "y_train": y[~test], "x_test": x[test], "y_test": y[test]}
        return split | of


def _numbered_groups(
    where: str, arrays: archive.Arrays
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]:
    """Whose the training and the test samples are, numbered in sorted order; None if not told."""
    train, test = arrays.get("groups_train"), arrays.get("groups_test")
    if train is None:
        if test is not None or "groups" in arrays:
            raise FedbenchError(f"{where}: x_train needs groups_train, beside it groups_test")
        return None, None
    given = [train] if test is None else [train, test]
    if any(each.ndim != 1 or each.dtype.kind not in "iuU" for each in given):
        raise FedbenchError(f"{where}: groups must be whole numbers or words, one per sample")
    names = np.unique(np.concatenate(given))
    numbers = [np.searchsorted(names, each).astype(np.int64) for each in given]
    return numbers[0], numbers[1] if len(numbers) > 1 else None


def different(where: str, y: NDArray[Any]) -> NDArray[Any]:
    """The different labels, sorted; raises `FedbenchError` if there are fewer than two classes.

    A class is a whole number ≥ 0 or a word.
    """
    if y.ndim != 1 or y.dtype.kind not in "iuU":
        raise FedbenchError(
            f"{where} is {y.dtype} of shape {y.shape}; labels must be whole numbers or words (N,)"
        )
    classes = np.unique(y)
    _refuse_missing(where, y, classes)
    if len(classes) < 2:
        seen = f"only the label {str(classes[0])!r}" if len(classes) else "no labels"
        raise FedbenchError(f"{where} has {seen}; it needs at least two classes")
    if y.dtype.kind == "i" and classes[0] < 0:
        raise FedbenchError(f"{where} has label {classes[0]}; whole numbers must be ≥ 0")
    return classes


def _refuse_missing(where: str, y: NDArray[Any], classes: NDArray[Any]) -> None:
    for word in (str(each) for each in classes if str(each).strip() in MISSING):
        raise FedbenchError(
            f"{where} has the label {word!r} at position {np.flatnonzero(y == word)[0]}, as "
            "missing values are written; every sample needs one; if it is a class, give it another "
            "name"
        )


def numbered(where: str, y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """Each label's position in the sorted `classes`; raises `FedbenchError` if it has none."""
    if y.ndim != 1 or y.dtype.kind not in ("U" if classes.dtype.kind == "U" else "iu"):
        raise FedbenchError(
            f"{where} is {y.dtype} of shape {y.shape}; labels must be (N,) and {classes.dtype} as "
            "in the training data"
        )
    unknown = np.flatnonzero(~np.isin(y, classes))
    if len(unknown):
        raise FedbenchError(
            f"{where} has label {str(y[unknown[0]])!r} at position {unknown[0]}; "
            "no training sample has it"
        )
    return np.searchsorted(classes, y).astype(np.int64)


def set_apart(y: NDArray[Any], share: float, seed: int) -> NDArray[np.bool_]:
    """Mark the share `share` of every class, drawn by `seed`, but never all of a class."""
    rng, chosen = np.random.default_rng(seed), np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        chosen[rows[: min(round(share * len(rows)), len(rows) - 1)]] = True
    return chosen

"""AG News: 120,000 + 7,600 short news texts of four topics, of which FedGKD trains on half."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from fedbench.base.checks import Count, Natural, Share
from fedbench.base.errors import FedbenchError, at
from fedbench.base.files import sha256_of
from fedbench.data.download import Remote, obtain
from fedbench.data.partition import by_class
from fedbench.data.text import Kind, Length, Texts, TextSet, read_text

_LAYOUT = 'AG News as comma-separated "class 1-4","title","description" (or "class","text")'
_PLACE = "https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv"
_SHA256 = {
    "train.csv": "76a0a2d2f92b286371fe4d4044640910a04a803fdd2538e0f3f29a5c6f6b672e",
    "test.csv": "521465c2428ed7f02f8d6db6ffdd4b5447c1c701962353eb2c40d548c3c85699",
}
_REMOTES = {name: Remote(f"{_PLACE}/{name}", sha) for name, sha in _SHA256.items()}
_OFFICIAL = 120_000  # training texts


@dataclass(frozen=True)
class AGNews(TextSet):
    """News by topic: world, sports, business, science (Zhang, Zhao & LeCun, NeurIPS 2015).

    Title and description are joined by a space. The share `share` of the official 120,000 training
    texts is drawn by `seed`, the same share of each class: FedGKD uses 60,000. If the file has
    fewer, all of them are used, and the origin of the data set says so.
    """

    EXTRA: ClassVar[str] = "text"
    SAMPLES: ClassVar[tuple[int, int]] = (60_000, 7_600)  # training and test samples
    CLASSES: ClassVar[int] = 4
    LARGEST: ClassVar[int] = 1900  # test samples of the largest class

    share: Share = 0.5
    seed: Natural = 0
    length: Length = 128  # tokens
    vocabulary: Count = 20_000  # words of the substitute tokenizer
    tokenizer: Kind = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.share == 1 and self.seed:
            raise FedbenchError(
                f"AGNews: seed = {self.seed} has no effect with share = 1, which takes all texts; "
                "leave it out"
            )

    def samples(self) -> tuple[int, int]:
        """The numbers of training texts that `share` asks for, and of test texts."""
        return round(self.share * _OFFICIAL), self.SAMPLES[1]

    def texts(self, folder: Path) -> tuple[list[Texts], dict[str, str]]:
        """Read `<folder>/ag_news/{train,test}.csv`, or download them."""
        place = folder / "ag_news"
        everything, test = (_read(place / name) for name in _REMOTES)
        train, note = self._draw(everything)
        origin = {"source": "csv", "file": str(place), "rows": note}
        origin |= {f"sha256 {name}": sha256_of(place / name) for name in _REMOTES}
        return [train, test], origin

    def _draw(self, rows: Texts) -> tuple[Texts, str]:
        """The rows to train on, in the file's order, and a note on how many they are."""
        wanted = round(self.share * _OFFICIAL)
        if len(rows) <= wanted:
            return rows, f"all {len(rows)} of the file; {wanted} were wanted"
        labels = np.array([label for label, _ in rows])
        groups, _ = by_class(labels, np.random.default_rng(self.seed))
        keep = [g[: max(1, round(wanted * len(g) / len(rows)))] for g in groups]
        chosen = np.sort(np.concatenate(keep))
        return [rows[i] for i in chosen], f"{len(chosen)} of {len(rows)}, seed {self.seed}"


def _read(file: Path) -> Texts:
    obtain(_REMOTES[file.name], file, f"put {_LAYOUT} there")
    with at(f"agnews ({file})"):
        reader = csv.reader(io.StringIO(read_text(file), newline=""), strict=True)
        try:
            return [_text(row, reader.line_num) for row in reader]
        except csv.Error as error:
            raise FedbenchError(
                f"line {reader.line_num} is not comma-separated text ({error}); the file must hold "
                f"{_LAYOUT}"
            ) from error


def _text(row: Sequence[str], line: int) -> tuple[int, str]:
    if len(row) not in (2, 3):
        raise FedbenchError(f"line {line} has {len(row)} columns; the file must hold {_LAYOUT}")
    if row[0] not in ("1", "2", "3", "4"):
        raise FedbenchError(f"line {line} has class {row[0]!r}; it must be 1, 2, 3 or 4")
    text = " ".join(row[1:]).strip()
    if not text:
        raise FedbenchError(f"line {line} has no text; every class needs one beside it")
    return int(row[0]) - 1, text

"""AG News and SST-5: short news by topic, and sentences of film reviews by sentiment."""

import csv
import io
import re
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedbench.base.checks import Count, Natural, Share
from fedbench.base.errors import FedbenchError, at, failing, shown
from fedbench.base.files import atomic, exists, read_text, sha256_of
from fedbench.data.labelled_texts import Kind, Length, Texts, TextSet
from fedbench.data.partition import by_class
from fedbench.data.source import obtain

_NEWS = 'AG News as comma-separated "class 1-4","title","description" (or "class","text")'
_NEWS_PLACE = "https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv"
_NEWS_SHA256 = {
    "train.csv": "76a0a2d2f92b286371fe4d4044640910a04a803fdd2538e0f3f29a5c6f6b672e",
    "test.csv": "521465c2428ed7f02f8d6db6ffdd4b5447c1c701962353eb2c40d548c3c85699",
}
_NEWS_REMOTES = {name: (f"{_NEWS_PLACE}/{name}", sha) for name, sha in _NEWS_SHA256.items()}
_OFFICIAL = 120_000  # training texts


@dataclass(frozen=True)
class AGNews(TextSet):
    """News by topic: world, sports, business, science (Zhang, Zhao & LeCun, NeurIPS 2015).

    Title and description are joined by a space. The share `share` of the official 120,000 training
    texts is drawn by `seed`, the same share of each class: FedGKD uses 60,000. If the file has
    fewer, all of them are used, and the origin of the data set says so.
    """

    EXTRA = "text"
    SAMPLES = (60_000, 7_600)
    CLASSES = 4
    LARGEST = 1900

    share: Share = 0.5
    seed: Natural = 0
    length: Length = 128  # tokens
    vocabulary: Count = 20_000  # words of the substitute tokenizer
    tokenizer: Kind = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.share == 1 and self.seed:
            raise FedbenchError(f"AGNews: seed = {self.seed} has no effect with share = 1")

    def samples(self) -> tuple[int, int]:
        """The numbers of training texts that `share` asks for, and of test texts."""
        return round(self.share * _OFFICIAL), self.SAMPLES[1]

    def texts(self, folder: Path) -> tuple[list[Texts], dict[str, str]]:
        """Read `<folder>/ag_news/{train,test}.csv`, or download them."""
        place = folder / "ag_news"
        everything, test = (_read_news(place / name) for name in _NEWS_REMOTES)
        train, note = self._draw(everything)
        origin = {"source": "csv", "file": str(place), "rows": note}
        origin |= {f"sha256 {name}": sha256_of(place / name) for name in _NEWS_REMOTES}
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


def _read_news(file: Path) -> Texts:
    obtain(_NEWS_REMOTES[file.name], file, f"put {_NEWS} there")
    news, reader = [], csv.reader(io.StringIO(read_text(file)), strict=True)
    with at(f"agnews ({file})"):
        try:
            for row in reader:
                label, text = "".join(row[:1]), " ".join(row[1:]).strip()
                if label not in ("1", "2", "3", "4") or len(row) > 3 or not text:
                    said = f"line {reader.line_num} is {shown(row)}"
                    raise FedbenchError(f"{said}; it must be {_NEWS}")
                news.append((int(label) - 1, text))
        except csv.Error as error:
            line = f"line {reader.line_num}"
            raise FedbenchError(f"{line} is not comma-separated text ({error})") from error
    return news


_REVIEWS = (
    "SST-5, one sentence per line, as '__label__1 …' to '__label__5 …' or as trees '(3 (2 …) …)'"
)
_REVIEWS_REMOTE = (
    "https://nlp.stanford.edu/sentiment/trainDevTestTrees_PTB.zip",
    "5c613a4f673fc74097d523a2c83f38e0cc462984d847b82c7aaf36b01cbbbfcc",
)
_LABELLED = re.compile(r"__label__([1-5])\s+(.+)")


@dataclass(frozen=True)
class SST5(TextSet):
    """Film reviews by sentiment, 5 grades (Socher et al., EMNLP 2013): whole sentences only.

    With `development`, a run that validates does so on the official 1,101 development sentences,
    and all training sentences go to clients; without it that file is not read.
    """

    EXTRA = "text"
    SAMPLES = (8_544, 2_210)
    CLASSES = 5
    LARGEST = 633

    length: Length = 128  # tokens
    vocabulary: Count = 20_000  # words of the substitute tokenizer
    tokenizer: Kind = "auto"
    development: bool = False

    def texts(self, folder: Path) -> tuple[list[Texts], dict[str, str]]:
        """Read `<folder>/sst5/{train,test}.txt` and, if asked for, dev.txt, or download them."""
        place = folder / "sst5"
        files = ["train.txt", "test.txt"] + ["dev.txt"] * self.development
        if missing := [place / name for name in files if not exists(place / name)]:
            with tempfile.TemporaryDirectory() as unpacked:
                packed = Path(unpacked, "trees.zip")
                obtain(_REVIEWS_REMOTE, packed, f"put {_REVIEWS} there", missing[0])
                with zipfile.ZipFile(packed) as trees:  # `obtain` has compared its checksum
                    for file in missing:
                        with atomic(file) as temporary:
                            temporary.write_bytes(trees.read(f"trees/{file.name}"))
        origin = {"source": "txt", "file": str(place)}
        parts: list[Texts] = []
        for file in (place / name for name in files):
            lines = enumerate(map(str.strip, read_text(file).split("\n")), 1)
            with at(f"sst5 ({file})"):
                parts.append([_review(line, n) for n, line in lines if line])
            origin[f"sha256 {file.name}"] = sha256_of(file)
        return parts, origin


def _review(line: str, number: int) -> tuple[int, str]:
    if labelled := _LABELLED.fullmatch(line):
        return int(labelled[1]) - 1, labelled[2]
    with failing(f"line {number} is {line[:40]!r}", f"it must be {_REVIEWS}", (FedbenchError,)):
        return root_and_words(line)


# A word may contain a no-break space: the official training file has 8\xa01\/2
_LEAF = re.compile(r"\([0-4] ([^() \t]+)\)")
_NODE = re.compile(r"\([0-4](?: x)+\)")
_ESCAPES = {"-LRB-": "(", "-RRB-": ")", "\\/": "/", "\\*": "*", "\xa0": " "}


def root_and_words(line: str) -> tuple[int, str]:
    """The grade 0…4 at a tree's root, and its sentence; raises `FedbenchError` if it is no tree."""
    rest = _LEAF.sub("x", line)
    while (folded := _NODE.sub("x", rest)) != rest:
        rest = folded
    if rest != "x":
        raise FedbenchError(f"{rest[:40]!r} is left when all nodes are folded")
    sentence = " ".join(_LEAF.findall(line))
    for written, meant in _ESCAPES.items():
        sentence = sentence.replace(written, meant)
    return int(line[1]), sentence

"""SST-5: 8,544 + 2,210 sentences from film reviews, graded from very negative to very positive."""

import re
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from fedbench.base.checks import Count
from fedbench.base.errors import FedbenchError, at
from fedbench.base.files import atomic, exists, sha256_of
from fedbench.data.download import Remote, obtain
from fedbench.data.text import Kind, Length, Texts, TextSet, read_text

_LAYOUT = (
    "SST-5, one sentence per line, as '__label__1 …' to '__label__5 …' or as trees '(3 (2 …) …)'"
)
_REMOTE = Remote(
    "https://nlp.stanford.edu/sentiment/trainDevTestTrees_PTB.zip",
    "5c613a4f673fc74097d523a2c83f38e0cc462984d847b82c7aaf36b01cbbbfcc",
)
_LABEL = "__label__"


@dataclass(frozen=True)
class SST5(TextSet):
    """Film reviews by sentiment, 5 grades (Socher et al., EMNLP 2013): whole sentences only.

    With `development`, a run that validates does so on the official 1,101 development sentences,
    and all training sentences go to clients; without it that file is not read.
    """

    EXTRA: ClassVar[str] = "text"
    SAMPLES: ClassVar[tuple[int, int]] = (8_544, 2_210)  # training and test samples
    CLASSES: ClassVar[int] = 5
    LARGEST: ClassVar[int] = 633  # test samples of the largest class

    length: Length = 128  # tokens
    vocabulary: Count = 20_000  # words of the substitute tokenizer
    tokenizer: Kind = "auto"
    development: bool = False

    def texts(self, folder: Path) -> tuple[list[Texts], dict[str, str]]:
        """Read `<folder>/sst5/{train,test}.txt` and, if asked for, dev.txt, or download them."""
        place = folder / "sst5"
        files = ["train.txt", "test.txt"] + ["dev.txt"] * self.development
        _fetch_missing(place, files)
        parts = [_read(place / name) for name in files]
        origin = {"source": "txt", "file": str(place)}
        origin |= {f"sha256 {name}": sha256_of(place / name) for name in files}
        return parts, origin


def _fetch_missing(place: Path, files: Sequence[str]) -> None:
    missing = [place / name for name in files if not exists(place / name)]
    if not missing:
        return
    with tempfile.TemporaryDirectory() as folder:
        packed = Path(folder, "trees.zip")
        obtain(_REMOTE, packed, f"put {_LAYOUT} there", missing[0])
        with zipfile.ZipFile(packed) as trees:  # `obtain` has compared its checksum
            for file in missing:
                with atomic(file) as temporary:
                    temporary.write_bytes(trees.read(f"trees/{file.name}"))


def _read(file: Path) -> Texts:
    with at(f"sst5 ({file})"):
        lines = enumerate(read_text(file).split("\n"), 1)
        return [_text(line.strip(), n) for n, line in lines if line.strip()]


def _text(line: str, number: int) -> tuple[int, str]:
    where = f"line {number}"
    if line.startswith("("):
        try:
            return root_and_words(line)
        except ValueError as error:
            raise FedbenchError(f"{where} is not a tree ({error}); it must be {_LAYOUT}") from error
    label, *words = line.split(maxsplit=1)
    if not label.startswith(_LABEL):
        raise FedbenchError(f"{where} begins with {label!r}; it must be {_LAYOUT}")
    grade = label.removeprefix(_LABEL)
    if grade not in ("1", "2", "3", "4", "5"):
        raise FedbenchError(f"{where} has label {label!r}; it must be {_LABEL}1 to {_LABEL}5")
    if not words:
        raise FedbenchError(f"{where} has no sentence; every label needs one beside it")
    return int(grade) - 1, words[0]


# A word may contain a no-break space: the official training file has 8\xa01\/2
_LEAF = re.compile(r"\([0-4] ([^() \t]+)\)")
_NODE = re.compile(r"\([0-4](?: x)+\)")
_ESCAPES = {"-LRB-": "(", "-RRB-": ")", "\\/": "/", "\\*": "*", "\xa0": " "}


def root_and_words(line: str) -> tuple[int, str]:
    """The grade 0…4 at a tree's root, and its sentence; raises `ValueError` if it is no tree."""
    rest = _LEAF.sub("x", line)
    while (folded := _NODE.sub("x", rest)) != rest:
        rest = folded
    if rest != "x":
        raise ValueError(f"{rest[:40]!r} is left when all nodes are folded")
    sentence = " ".join(_LEAF.findall(line))
    for written, meant in _ESCAPES.items():
        sentence = sentence.replace(written, meant)
    return int(line[1]), sentence

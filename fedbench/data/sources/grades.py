"""Grades: 2,500 generated verdicts on films, very negative to very positive; needs no file."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeVar

from fedbench.base.checks import Count
from fedbench.data.dataset import Dataset
from fedbench.data.source import Source
from fedbench.data.text import Texts, TextSet, tokenised
from fedbench.data.tokens import Length, Tokens

_ASPECTS = "plot cast ending music dialogue direction camera pace humour script"
_WORDS = {
    -2: "awful dreadful unbearable hopeless wretched",
    -1: "dull clumsy thin predictable tired",
    1: "pleasant decent solid clever warm",
    2: "superb brilliant stunning masterly dazzling",
}
_GRADES = {-6: 0, -5: 0, -4: 0, -3: 1, -2: 1, -1: 1, 0: 2, 1: 3, 2: 3, 3: 3, 4: 4, 5: 4, 6: 4}
_NEGATED = 0.05  # the share of clauses with a "not"
_TRAIN, _TEST = 2_000, 500
T = TypeVar("T")


@dataclass(frozen=True)
class Grades(Source):
    """A substitute for film reviews by sentiment: sentences of a small grammar, in 5 grades.

    A sentence has three clauses such as "the plot is not dull". Each is worth −2, −1, 1 or 2 by its
    last word, or the opposite with "not"; the sum gives the grade: −4 or less, −3…−1, 0, 1…3, 4 or
    more. A model must use the order of words to know what "not" refers to. Grades are not equally
    frequent. The sentences are the same for every run, seed and library version.
    """

    SAMPLES: ClassVar[tuple[int, int]] = (2_000, 500)  # training and test samples
    CLASSES: ClassVar[int] = 5
    LARGEST: ClassVar[int] = 167  # test samples of the largest class

    length: Length = 20  # tokens
    vocabulary: Count = 1_000  # words of the tokenizer, more than the grammar has

    def load(self, folder: Path) -> Dataset:
        """Make the sentences; `folder` is not used."""
        rng = random.Random(0)  # noqa: S311  # the same numbers in every version of Python
        train, test = _sentences(_TRAIN, rng), _sentences(_TEST, rng)
        texts = TextSet("grades", 5, train, test, {"source": "made by a grammar"})
        return tokenised(texts, Tokens(self.length, self.vocabulary, "words"), folder)


def _sentences(count: int, rng: random.Random) -> Texts:
    return [_sentence(rng) for _ in range(count)]


def _sentence(rng: random.Random) -> tuple[int, str]:
    """A grade, and a sentence of three clauses that has it."""
    worths, clauses = zip(*(_clause(rng) for _ in range(3)), strict=True)
    return _GRADES[sum(worths)], "{}, {} and {}".format(*clauses)


def _clause(rng: random.Random) -> tuple[int, str]:
    worth = _pick(list(_WORDS), rng)
    aspect, word = _pick(_ASPECTS.split(), rng), _pick(_WORDS[worth].split(), rng)
    if rng.random() < _NEGATED:
        return -worth, f"the {aspect} is not {word}"
    return worth, f"the {aspect} is {word}"


def _pick(options: Sequence[T], rng: random.Random) -> T:
    return options[int(rng.random() * len(options))]

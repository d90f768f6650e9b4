"""Topics and grades: sentences of small grammars; they need no file and no network."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeVar

from fedbench.base.checks import Count
from fedbench.data.labelled_texts import Length, Texts, TextSet

_FRAMES = (
    "the {n} {v} the {n} {l} {n}",
    "{n} {v} after {n} {l} the {n}",
    "why the {n} of {n} {v} {l} {n}",
    "{n} and {n} {v} while the {n} waits",
)
_LINKS = ("in", "over", "before", "with", "despite", "against", "for")
_NOUNS = (
    "minister embassy border treaty election rebels parliament refugees president troops ceasefire "
    "ballot sanctions envoy province coalition protest summit capital hostage",
    "striker goalkeeper league coach stadium final medal tournament referee season sprinter "
    "penalty innings captain trophy playoff rookie marathon defender umpire",
    "shares profit merger retailer investors quarter dividend inflation bank airline revenue "
    "takeover earnings bonds economy supplier oil wages auditor tariff",
    "software satellite virus browser chip telescope server genome laptop researchers spacecraft "
    "network battery robot encryption fossil search processor vaccine comet",
)
_VERBS = (
    "condemns negotiates topples votes deploys resigns",
    "wins scores defeats trains injures qualifies",
    "buys sells cuts forecasts borrows invests",
    "launches patches measures detects upgrades discovers",
)
_FROM_TOPIC = 0.9  # the share of words that are drawn from the list of the headline's topic

_ASPECTS = "plot cast ending music dialogue direction camera pace humour script"
_WORDS = {
    -2: "awful dreadful unbearable hopeless wretched",
    -1: "dull clumsy thin predictable tired",
    1: "pleasant decent solid clever warm",
    2: "superb brilliant stunning masterly dazzling",
}
_GRADES = {-4: 0, -3: 1, -2: 1, -1: 1, 0: 2, 1: 3, 2: 3, 3: 3, 4: 4}
_NEGATED = 0.05  # the share of clauses with a "not"
_ORIGIN = {"source": "made by a grammar"}
T = TypeVar("T")


@dataclass(frozen=True)
class Topics(TextSet):
    """A substitute for news by topic: sentences of a small grammar, equally many of 4 topics.

    A frame such as "the {noun} {verb} the {noun} in {noun}" is filled word by word. Nine of ten
    nouns and verbs are drawn from the list of the headline's topic, the others from the list of any
    of the four topics, so that a single word may mislead; the first words of a list are drawn more
    often than its last. The sentences are the same for every run, seed and library version.
    """

    EXTRA = "text"
    SAMPLES = (2_000, 500)
    CLASSES = 4
    LARGEST = 125

    length: Length = 16  # tokens
    vocabulary: Count = 1_000  # words of the tokenizer, more than the grammar has

    def texts(self, folder: Path) -> tuple[list[Texts], dict[str, str]]:
        """Make the sentences; `folder` is not used."""
        rng = random.Random(0)  # noqa: S311  # the same numbers in every version of Python
        topics = [[i % len(_NOUNS) for i in range(count)] for count in self.SAMPLES]
        return [[(each, _headline(each, rng)) for each in some] for some in topics], _ORIGIN


def _headline(topic: int, rng: random.Random) -> str:
    lists = {"{n}": _NOUNS, "{v}": _VERBS}
    words = _pick(_FRAMES, rng).split()
    for i, gap in enumerate(words):
        if gap in lists:
            owner = topic if rng.random() < _FROM_TOPIC else int(rng.random() * len(_NOUNS))
            words[i] = _pick(lists[gap][owner].split(), rng, skew=2)
        elif gap == "{l}":
            words[i] = _pick(_LINKS, rng)
    return " ".join(words)


@dataclass(frozen=True)
class Grades(TextSet):
    """A substitute for film reviews by sentiment: sentences of a small grammar, in 5 grades.

    A sentence has two clauses such as "the plot is not dull". Each is worth −2, −1, 1 or 2 by its
    last word, or the opposite with "not"; the sum gives the grade: −4, −3…−1, 0, 1…3, 4. A model
    must use the order of words to know what "not" refers to. Grades are not equally frequent. The
    sentences are the same for every run, seed and library version.
    """

    EXTRA = "text"
    SAMPLES = (2_000, 500)
    CLASSES = 5
    LARGEST = 160
    numerics: ClassVar[dict[str, int]] = {"always": 4}  # two clauses in place of three

    length: Length = 15  # tokens
    vocabulary: Count = 1_000  # words of the tokenizer, more than the grammar has

    def texts(self, folder: Path) -> tuple[list[Texts], dict[str, str]]:
        """Make the sentences; `folder` is not used."""
        rng = random.Random(0)  # noqa: S311  # the same numbers in every version of Python
        return [[_verdict(rng) for _ in range(count)] for count in self.SAMPLES], _ORIGIN


def _verdict(rng: random.Random) -> tuple[int, str]:
    total, clauses = 0, []
    for _ in range(2):
        worth = _pick(list(_WORDS), rng)
        aspect, word = _pick(_ASPECTS.split(), rng), _pick(_WORDS[worth].split(), rng)
        negated = rng.random() < _NEGATED
        total += -worth if negated else worth
        clauses.append(f"the {aspect} is not {word}" if negated else f"the {aspect} is {word}")
    return _GRADES[total], " and ".join(clauses)


def _pick(options: Sequence[T], rng: random.Random, skew: int = 1) -> T:
    """Draw one of the options; with `skew` above 1 the first ones are drawn more often."""
    return options[int(len(options) * rng.random() ** skew)]

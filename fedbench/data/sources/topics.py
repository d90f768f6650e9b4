"""Topics: 2,500 generated headlines of four topics; needs no file and no network."""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from fedbench.base.checks import Count
from fedbench.data.dataset import Dataset
from fedbench.data.source import Source
from fedbench.data.text import Texts, TextSet, tokenised
from fedbench.data.tokens import Length, Tokens

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
_TRAIN, _TEST = 2_000, 500


@dataclass(frozen=True)
class Topics(Source):
    """A substitute for news by topic: sentences of a small grammar, equally many of 4 topics.

    A frame such as "the {noun} {verb} the {noun} in {noun}" is filled word by word. Nine of ten
    nouns and verbs are drawn from the list of the headline's topic, the others from the list of any
    of the four topics, so that a single word may mislead; the first words of a list are drawn more
    often than its last. The sentences are the same for every run, seed and library version.
    """

    SAMPLES: ClassVar[tuple[int, int]] = (2_000, 500)  # training and test samples
    CLASSES: ClassVar[int] = 4
    LARGEST: ClassVar[int] = 125  # test samples of the largest class

    length: Length = 16  # tokens
    vocabulary: Count = 1_000  # words of the tokenizer, more than the grammar has

    def load(self, folder: Path) -> Dataset:
        """Make the sentences; `folder` is not used."""
        rng = random.Random(0)  # noqa: S311  # the same numbers in every version of Python
        train, test = _sentences(_TRAIN, rng), _sentences(_TEST, rng)
        texts = TextSet("topics", 4, train, test, {"source": "made by a grammar"})
        return tokenised(texts, Tokens(self.length, self.vocabulary, "words"), folder)


def _sentences(count: int, rng: random.Random) -> Texts:
    return [(i % len(_NOUNS), _sentence(i % len(_NOUNS), rng)) for i in range(count)]


def _sentence(topic: int, rng: random.Random) -> str:
    """A frame whose gaps are filled one after the other."""
    lists = {"{n}": _NOUNS, "{v}": _VERBS}
    words = _pick(_FRAMES, rng).split()
    for i, gap in enumerate(words):
        if gap in lists:
            owner = topic if rng.random() < _FROM_TOPIC else int(rng.random() * len(_NOUNS))
            words[i] = _pick(lists[gap][owner].split(), rng, skew=2)
        elif gap == "{l}":
            words[i] = _pick(_LINKS, rng)
    return " ".join(words)


def _pick(words: tuple[str, ...] | list[str], rng: random.Random, skew: int = 1) -> str:
    """Draw one of the words; with `skew` above 1 the first ones are drawn more often."""
    return words[int(len(words) * rng.random() ** skew)]

"""Labelled texts: reads their files, and turns them into a data set of token ids."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedbench.base.errors import FedbenchError, short
from fedbench.data.dataset import Dataset
from fedbench.data.tokens import Tokens, encode

Texts = Sequence[tuple[int, str]]  # label 0…classes−1 and text


@dataclass(frozen=True)
class TextSet:
    """Training and test texts with their labels, and where they came from.

    `held_out` is an official validation set; it is empty if there is none, or if none is wanted.
    """

    name: str
    classes: int
    train: Texts
    test: Texts
    origin: Mapping[str, str]
    held_out: Texts = ()


def tokenised(texts: TextSet, tokens: Tokens, folder: Path) -> Dataset:
    """The texts as a data set of token ids, whose origin names the tokenizer."""
    _check_all_classes(texts)
    tokenizer, name = tokens.tokenizer([text for _, text in texts.train], folder)
    x = [encode(tokenizer, [t for _, t in part], tokens.length) for part in _parts(texts)]
    y = [np.array([label for label, _ in part], dtype=np.int64) for part in _parts(texts)]
    return Dataset(
        texts.name, x[0], y[0], x[1], y[1],
        classes=texts.classes,
        origin={**texts.origin, "tokenizer": name},
        vocabulary=tokenizer.get_vocab_size(),
        x_held_out=x[2] if texts.held_out else None,
        y_held_out=y[2] if texts.held_out else None,
    )  # fmt: skip


def read_text(file: Path, where: str) -> str:
    """The text of a file; raises `FedbenchError` if it is empty, not UTF-8 or cannot be read."""
    try:
        text = file.read_bytes().decode(
            "utf-8"
        )  # line ends stay as they are, which Path.read_text would change
    except (OSError, UnicodeDecodeError) as error:
        raise FedbenchError(
            f"{where}: the file is not readable UTF-8 text ({short(error)}); put a sound one in "
            "its place"
        ) from error
    if not text.strip():
        raise FedbenchError(f"{where}: the file is empty; it needs at least one labelled text")
    return text


def _parts(texts: TextSet) -> list[Texts]:
    return [texts.train, texts.test] + [texts.held_out] * bool(texts.held_out)


def _check_all_classes(texts: TextSet) -> None:
    count = len({label for label, _ in texts.train})
    if count != texts.classes:
        raise FedbenchError(
            f"{texts.name} ({texts.origin.get('file', 'made here')}): the training texts have "
            f"{count} different labels; {texts.name} has {texts.classes}"
        )

"""Turns texts into token ids: by a pretrained WordPiece tokenizer, or by a list of words."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray
from tokenizers import (
    BertWordPieceTokenizer,
    Tokenizer,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from fedbench.base.checks import Checked, Count
from fedbench.base.errors import FedbenchError, short
from fedbench.base.files import exists

Kind = Literal["auto", "pretrained", "words"]
Length = Annotated[int, Ge(2)]  # tokens: [CLS] and at least one more

SPECIAL = ("[PAD]", "[UNK]", "[CLS]")  # ids 0, 1 and 2 of the substitute
_CHUNK = 10_000  # texts encoded at a time: an encoding takes a hundred bytes per token


@dataclass(frozen=True)
class Tokens(Checked):
    """How texts become ids: `length` ids per text, cut or filled up with 0; the first is [CLS].

    `kind` 'pretrained' reads the tokenizer of distilbert-base-uncased from the data folder;
    'words' builds a substitute from the `vocabulary` most frequent words of the training texts;
    'auto' is 'pretrained' if its files are there, else 'words'.
    """

    length: Length = 128
    vocabulary: Count = 20_000
    kind: Kind = "auto"

    def tokenizer(self, texts: Sequence[str], folder: Path) -> tuple[Any, str]:
        """The tokenizer for these training texts, and its name.

        Raises `FedbenchError` if `kind` is 'pretrained' and its files are missing or broken.
        """
        if self.kind == "pretrained" or (self.kind == "auto" and find(folder)):
            return read(folder), "distilbert-base-uncased"
        substitute = word_level(texts, self.vocabulary)
        words = substitute.get_vocab_size() - len(SPECIAL)
        return substitute, f"substitute: word-level, {words} words"


def word_level(texts: Sequence[str], vocabulary: int) -> Tokenizer:
    """A tokenizer of the most frequent words of the texts; ties are broken by the alphabet.

    Texts are put in lower case and split at spaces and punctuation. Id 0 is padding, 1 an unknown
    word, and 2 is [CLS], which stands before every text.
    """
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))  # noqa: S106  # no password
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordLevelTrainer(
        vocab_size=vocabulary + len(SPECIAL), special_tokens=list(SPECIAL), show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A", special_tokens=[("[CLS]", SPECIAL.index("[CLS]"))]
    )
    return tokenizer


def encode(tokenizer: Any, texts: Sequence[str], length: int) -> NDArray[np.int64]:
    """Token ids (N, length); longer texts are cut, shorter ones are filled up with 0."""
    tokenizer.no_padding()  # NumPy pads in far less memory
    tokenizer.enable_truncation(length)
    ids = np.zeros((len(texts), length), dtype=np.int64)
    for first in range(0, len(texts), _CHUNK):
        encodings = tokenizer.encode_batch(list(texts[first : first + _CHUNK]))
        for row, encoding in enumerate(encodings, first):
            ids[row, : len(encoding.ids)] = encoding.ids
    return ids


NAME = "distilbert-base-uncased"
_FILES = ("tokenizer.json", "vocab.txt")  # the first of them that exists is read


def find(folder: Path) -> Path | None:
    """The file of the tokenizer in `<folder>/distilbert-base-uncased`; None if there is none."""
    files = (folder / NAME / name for name in _FILES)
    return next((file for file in files if exists(file)), None)


def read(folder: Path) -> Any:
    """The pretrained tokenizer; raises `FedbenchError` if its file is missing or broken."""
    file = find(folder)
    if file is None:
        raise FedbenchError(
            f"{folder / NAME}: {' or '.join(_FILES)} is missing; put one of {NAME}'s there, or "
            "choose the tokenizer 'words'"
        )
    tokenizer = _open(file)
    if tokenizer.token_to_id("[PAD]") != 0:
        raise FedbenchError(
            f"{file}: [PAD] has id {tokenizer.token_to_id('[PAD]')}; it must be 0, which is padding"
        )
    if tokenizer.encode("a").tokens[:1] != ["[CLS]"]:
        raise FedbenchError(f"{file}: texts do not begin with [CLS]; they must, as in {NAME}")
    return tokenizer


def _open(file: Path) -> Any:
    try:
        if file.suffix == ".json":
            return Tokenizer.from_file(str(file))
        return BertWordPieceTokenizer(str(file), lowercase=True)
    except Exception as error:  # the library raises bare exceptions, and TypeError without [SEP]
        raise FedbenchError(
            f"{file}: not a readable tokenizer ({short(error)}); put {NAME}'s in its place"
        ) from error

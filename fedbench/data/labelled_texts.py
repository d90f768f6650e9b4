"""Labelled texts: their files, their tokenizer, and the data set of token ids made of them."""

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from fedbench.base import registry
from fedbench.base.errors import FedbenchError, failing
from fedbench.base.files import exists
from fedbench.data.dataset import Dataset
from fedbench.data.source import Source

Kind = Literal["auto", "pretrained", "words"]
Length = Annotated[int, Ge(2)]  # tokens: [CLS] and at least one more

SPECIAL = ("[PAD]", "[UNK]", "[CLS]")  # ids 0, 1 and 2 of the substitute
_CHUNK = 10_000  # texts encoded at a time: an encoding takes a hundred bytes per token

NAME = "distilbert-base-uncased"
_FILES = ("tokenizer.json", "vocab.txt")  # the first of them that exists is read
Texts = Sequence[tuple[int, str]]  # label 0…classes−1 and text


class TextSet(Source):
    """Labelled texts, which become `length` ids each, cut or filled up with 0; the first is [CLS].

    The `tokenizer` 'pretrained' is that of distilbert-base-uncased in the data folder; 'words' is a
    substitute of the `vocabulary` most frequent words of the training texts; 'auto' is 'pretrained'
    if its files are there, else 'words'.
    """

    length: int
    vocabulary: int
    tokenizer: Kind = "words"

    @abstractmethod
    def texts(self, folder: Path) -> tuple[list[Texts], dict[str, str]]:
        """Training and test texts and, if there is one, the official validation set; the origin."""

    def load(self, folder: Path) -> Dataset:
        """The token ids of the texts, which are read from `folder` or made."""
        (train, *others), origin = self.texts(folder)
        name, labels = type(self).__name__.lower(), {label for label, _ in train}
        if len(labels) != self.CLASSES:
            raise FedbenchError(
                f"{name} ({origin.get('file', 'made here')}): the training texts have "
                f"{len(labels)} different labels; {name} has {self.CLASSES}"
            )
        tokenizer, tokenizer_name = self.tokenizer_of([text for _, text in train], folder)
        arrays: dict[str, Any] = {}
        for part, texts in zip(("train", "test", "held_out"), (train, *others), strict=False):
            arrays[f"x_{part}"] = encode(tokenizer, [text for _, text in texts], self.length)
            arrays[f"y_{part}"] = np.array([label for label, _ in texts], dtype=np.int64)
        return Dataset(
            name, classes=self.CLASSES, vocabulary=tokenizer.get_vocab_size(),
            origin=origin | {"tokenizer": tokenizer_name}, **arrays,
        )  # fmt: skip

    def tokenizer_of(self, texts: Sequence[str], folder: Path) -> tuple[Any, str]:
        """The tokenizer for these training texts, and its name."""
        registry.require_extra("text", "a data set of texts")
        files = (folder / NAME / name for name in _FILES if self.tokenizer != "words")
        if file := next(filter(exists, files), None):
            return _published(file), NAME
        if self.tokenizer == "pretrained":
            said = f"{folder / NAME}: {' or '.join(_FILES)} is missing"
            raise FedbenchError(f"{said}; put {NAME}'s there, or choose the tokenizer 'words'")
        substitute = word_level(texts, self.vocabulary)
        words = substitute.get_vocab_size() - len(SPECIAL)
        return substitute, f"substitute: word-level, {words} words"


def _published(file: Path) -> Any:
    from tokenizers import BertWordPieceTokenizer, Tokenizer

    with failing(f"{file}: not a readable tokenizer", f"put {NAME}'s in its place"):
        if file.suffix == ".json":
            tokenizer = Tokenizer.from_file(str(file))
        else:
            tokenizer = BertWordPieceTokenizer(str(file), lowercase=True)
    padding, first = tokenizer.token_to_id("[PAD]"), tokenizer.encode("a").tokens[:1]
    if padding != 0 or first != ["[CLS]"]:
        said = f"{file}: [PAD] has id {padding} and texts begin with {first}"
        raise FedbenchError(f"{said}; these must be 0, which is padding, and [CLS]")
    return tokenizer


def word_level(texts: Sequence[str], vocabulary: int) -> Any:
    """A tokenizer of the most frequent words of the texts, in lower case; [CLS] begins a text."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

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

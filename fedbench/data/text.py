"""Labelled texts: their files, their tokenizer, and the data set of token ids made of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from fedbench.base import extras
from fedbench.base.checks import Checked, Count
from fedbench.base.errors import FedbenchError, failing
from fedbench.base.files import exists
from fedbench.data.dataset import Dataset

Kind = Literal["auto", "pretrained", "words"]
Length = Annotated[int, Ge(2)]  # tokens: [CLS] and at least one more

SPECIAL = ("[PAD]", "[UNK]", "[CLS]")  # ids 0, 1 and 2 of the substitute
_CHUNK = 10_000  # texts encoded at a time: an encoding takes a hundred bytes per token

NAME = "distilbert-base-uncased"
_FILES = ("tokenizer.json", "vocab.txt")  # the first of them that exists is read
Texts = Sequence[tuple[int, str]]  # label 0…classes−1 and text


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

        Raises `FedbenchError` if the extra 'text' is not installed, or if `kind` is 'pretrained'
        and its files are missing or broken.
        """
        extras.require("text", "a data set of texts")
        if self.kind != "words":
            files = (folder / NAME / name for name in _FILES)
            if file := next(filter(exists, files), None):
                return _pretrained(file), NAME
        if self.kind == "pretrained":
            raise FedbenchError(
                f"{folder / NAME}: {' or '.join(_FILES)} is missing; put one of {NAME}'s there, or "
                "choose the tokenizer 'words'"
            )
        substitute = word_level(texts, self.vocabulary)
        words = substitute.get_vocab_size() - len(SPECIAL)
        return substitute, f"substitute: word-level, {words} words"


def word_level(texts: Sequence[str], vocabulary: int) -> Any:
    """A tokenizer of the most frequent words of the texts; ties are broken by the alphabet.

    Texts are put in lower case and split at spaces and punctuation. Id 0 is padding, 1 an unknown
    word, and 2 is [CLS], which stands before every text.
    """
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


def _pretrained(file: Path) -> Any:
    from tokenizers import BertWordPieceTokenizer, Tokenizer

    with failing(f"{file}: not a readable tokenizer", f"put {NAME}'s in its place"):
        if file.suffix == ".json":
            tokenizer = Tokenizer.from_file(str(file))
        else:
            tokenizer = BertWordPieceTokenizer(str(file), lowercase=True)
    if tokenizer.token_to_id("[PAD]") != 0:
        raise FedbenchError(
            f"{file}: [PAD] has id {tokenizer.token_to_id('[PAD]')}; it must be 0, which is padding"
        )
    if tokenizer.encode("a").tokens[:1] != ["[CLS]"]:
        raise FedbenchError(f"{file}: texts do not begin with [CLS]; they must, as in {NAME}")
    return tokenizer


def tokenised(
    name: str,
    parts: Sequence[Texts],
    tokens: Tokens,
    folder: Path,
    classes: int,
    origin: Mapping[str, str],
) -> Dataset:
    """Labelled texts as a data set of token ids, whose origin names the tokenizer.

    parts: training and test texts and, where there is one, the official validation set.
    """
    y = [np.array([label for label, _ in part], dtype=np.int64) for part in parts]
    if (labels := len(np.unique(y[0]))) != classes:
        raise FedbenchError(
            f"{name} ({origin.get('file', 'made here')}): the training texts have {labels} "
            f"different labels; {name} has {classes}"
        )
    tokenizer, tokenizer_name = tokens.tokenizer([text for _, text in parts[0]], folder)
    x = [encode(tokenizer, [text for _, text in part], tokens.length) for part in parts]
    return Dataset(
        name, x[0], y[0], x[1], y[1],
        classes=classes,
        origin={**origin, "tokenizer": tokenizer_name},
        vocabulary=tokenizer.get_vocab_size(),
        x_held_out=x[2] if len(parts) > 2 else None,
        y_held_out=y[2] if len(parts) > 2 else None,
    )  # fmt: skip


def read_text(file: Path) -> str:
    """The text of a file; raises `FedbenchError` if it is empty, not UTF-8 or cannot be read."""
    with failing("the file is not readable UTF-8 text", "put a sound one in its place"):
        text = file.read_bytes().decode("utf-8")  # read_text would change line ends
    if not text.strip():
        raise FedbenchError("the file is empty; it needs at least one labelled text")
    return text

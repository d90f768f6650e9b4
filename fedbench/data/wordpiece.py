"""DistilBERT's own tokenizer, from files in the data folder; nothing is downloaded."""

from pathlib import Path
from typing import Any

from tokenizers import BertWordPieceTokenizer, Tokenizer

from fedbench.base.errors import FedbenchError, short
from fedbench.base.files import exists

NAME = "distilbert-base-uncased"
_FILES = ("tokenizer.json", "vocab.txt")  # the first that is there is read


def find(folder: Path) -> Path | None:
    """The tokenizer's file in `<folder>/distilbert-base-uncased`, if there is one."""
    files = (folder / NAME / name for name in _FILES)
    return next((file for file in files if exists(file)), None)


def read(folder: Path) -> Any:
    """The tokenizer; raises `FedbenchError` if its file is missing, broken or not BERT's."""
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

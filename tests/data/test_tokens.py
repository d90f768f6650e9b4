"""Texts become ids as one can check by hand, with the substitute and with DistilBERT's files."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbench.data.labelled_texts import NAME, encode, word_level
from fedbench.data.sources.agnews_and_sst5 import AGNews

TEXTS = ["The good, the bad", "the GOOD film"]
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "film", "good", "##ly", "."]
VOCABULARY = "\n".join(PIECES).encode()


def ids(texts, length=6, vocabulary=10, kind="words", folder=None):
    source = AGNews(length=length, vocabulary=vocabulary, tokenizer=kind)
    tokenizer, named = source.tokenizer_of(TEXTS, folder)
    return encode(tokenizer, texts, length).tolist(), named


def put(folder, name="vocab.txt", content=VOCABULARY):
    place = folder / NAME
    place.mkdir(exist_ok=True)
    (place / name).write_bytes(content)
    return place / name


def test_words_by_hand():
    # by count, then alphabet: the 3 good 4 , 5 bad 6 film 7; 2 is [CLS], 1 unknown, 0 padding
    found, named = ids(["Film, THE film", "a film.", ""])
    assert found == [[2, 7, 5, 3, 7, 0], [2, 1, 7, 1, 0, 0], [2, 0, 0, 0, 0, 0]]
    assert named == "substitute: word-level, 5 words"


def test_the_vocabulary_keeps_the_most_frequent_words():
    found, named = ids(["the good bad film"], vocabulary=2)
    assert found == [[2, 3, 4, 1, 1, 0]]
    assert named == "substitute: word-level, 2 words"


def test_long_texts_are_cut_and_begin_with_cls():
    assert ids(["the good film the good film"], length=3)[0] == [[2, 3, 4]]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(max_size=30), min_size=1, max_size=5), st.integers(2, 9))
def test_ids_are_in_the_vocabulary_whatever_the_text(texts, length):
    tokenizer = word_level(TEXTS, 10)
    found = encode(tokenizer, texts, length)
    assert found.shape == (len(texts), length)
    assert found.dtype == np.int64
    assert (found[:, 0] == 2).all()
    assert found.min() >= 0
    assert found.max() < tokenizer.get_vocab_size()


def test_encoding_in_chunks_keeps_the_order(monkeypatch):
    monkeypatch.setattr("fedbench.data.labelled_texts._CHUNK", 2)
    assert ids(["the", "good", "film", "bad", "the"], length=2)[0] == [
        [2, i] for i in (3, 4, 7, 6, 3)
    ]


def test_the_pretrained_tokenizer_splits_words_into_pieces(tmp_path):
    put(tmp_path)
    found, named = ids(["Goodly film.", "the the the the the"], 6, 10, "pretrained", tmp_path)
    assert found == [[2, 7, 8, 6, 9, 3], [2, 5, 5, 5, 5, 3]]  # [CLS] good ##ly film . [SEP]
    assert named == "distilbert-base-uncased"


def test_tokenizer_json_reads_like_the_vocabulary_it_was_made_from(tmp_path):
    source, folder = AGNews(tokenizer="pretrained"), put(tmp_path).parent.parent
    tokenizer, _ = source.tokenizer_of([], folder)
    tokenizer.enable_padding(length=30)  # published files may pad and cut on their own
    tokenizer.save(str(tmp_path / NAME / "tokenizer.json"))
    (tmp_path / NAME / "vocab.txt").unlink()
    assert ids(["Goodly film."], 8, 10, "auto", tmp_path)[0] == [[2, 7, 8, 6, 9, 3, 0, 0]]


def test_auto_takes_the_files_if_they_are_there(tmp_path):
    assert ids(["the"], kind="auto", folder=tmp_path)[1].startswith("substitute")
    put(tmp_path)
    assert ids(["the"], kind="auto", folder=tmp_path)[1] == "distilbert-base-uncased"


BROKEN = [
    ("tokenizer.json", b"{", "tokenizer.json: not a readable tokenizer (Exception: EOF"),
    ("tokenizer.json", b"", "not a readable tokenizer"),
    ("tokenizer.json", b"{}", "not a readable tokenizer"),
    ("vocab.txt", b"\xff\xfe\xff", "vocab.txt: not a readable tokenizer"),
    ("vocab.txt", b"the\nfilm", "not a readable tokenizer (TypeError: sep_token not found"),
    ("vocab.txt", "\n".join(PIECES[::-1]).encode(), "[PAD] has id 9 and texts begin with"),
    ("vocab.txt", b"the\n[CLS]\n[SEP]\n[UNK]", "[PAD] has id None and texts"),
]


@pytest.mark.parametrize(("name", "content", "sentence"), BROKEN)
def test_broken_files_are_refused_in_a_sentence(refuses, name, content, sentence, tmp_path):
    file = put(tmp_path, name, content)
    with refuses() as caught:
        ids(["the"], kind="auto", folder=tmp_path)
    assert sentence in str(caught.value)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_tokenizer_without_cls_in_front_is_refused(refuses, tmp_path):
    put(tmp_path)
    tokenizer = word_level(TEXTS, 10)
    tokenizer.post_processor = None
    tokenizer.save(str(tmp_path / NAME / "tokenizer.json"))
    with refuses(
        r"json: .*texts begin with \['\[UNK\]'\]; these must be 0, which is padding, and \[CLS\]"
    ):
        ids(["the"], kind="pretrained", folder=tmp_path)


def test_missing_files_are_named(refuses, tmp_path):
    with refuses() as caught:
        ids(["the"], kind="pretrained", folder=tmp_path)
    assert str(tmp_path / NAME) in str(caught.value)
    assert "tokenizer.json or vocab.txt is missing" in str(caught.value)
    assert "'words'" in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"length": 1}, "length = 1 is not allowed; it must be a whole number ≥ 2"),
        ({"vocabulary": 0}, "vocabulary = 0 is not allowed; it must be a whole number ≥ 1"),
        (
            {"tokenizer": "bpe"},
            "tokenizer = 'bpe' is not allowed; it must be one of auto, pretrained, words",
        ),
    ],
)
def test_settings_out_of_range_are_refused(refuses, wrong, sentence):
    with refuses(sentence):
        AGNews(**wrong)

"""Text sources read the official layouts and refuse damaged files by line."""

import hashlib
import io
import zipfile

import numpy as np
import pytest

from fedbench import RunSpec
from fedbench.base import registry
from fedbench.base.errors import FedbenchError
from fedbench.data.source import data_folder
from fedbench.data.sources import agnews_and_sst5
from fedbench.data.sources.agnews_and_sst5 import SST5, AGNews, _read_news, root_and_words
from fedbench.data.sources.generated_text import Grades, Topics
from fedbench.engine.assemble import assemble
from tests.data import network

AG_NEWS = agnews_and_sst5._NEWS_SHA256["train.csv"]
REVIEWS = agnews_and_sst5._REVIEWS_REMOTE[1]
NEWS = '"1","Vote, again","He said ""no"""\n"2","Goal","A win"\n"3","Oil","Up"\n"4","Chip","New"\n'
TREES = "\n".join(f"({grade} (2 word) (2 (2 number) (2 {grade})))" for grade in range(5)) + "\n"
LABELS = "".join(f"__label__{grade + 1}\tword number {grade}\n" for grade in range(5))


@pytest.fixture(autouse=True)
def _offline(monkeypatch):
    network.cut_off(monkeypatch)


def put(folder, name, **parts):
    place = folder / name
    place.mkdir(exist_ok=True)
    ending = {"ag_news": "csv", "sst5": "txt"}[name]
    for part, content in parts.items():
        raw = content if isinstance(content, bytes) else content.encode()
        (place / f"{part}.{ending}").write_bytes(raw)
    return folder


def words(data, row, x="x_train"):
    """The ids of a row without padding."""
    return [int(i) for i in getattr(data, x)[row] if i]


def test_ag_news_joins_title_and_description(tmp_path):
    put(tmp_path, "ag_news", train=NEWS, test='"4","Chip","New"\r\n')
    data = AGNews(length=12, tokenizer="words").load(tmp_path)
    assert data.y_train.tolist() == [0, 1, 2, 3]
    assert (data.y_test.tolist(), data.classes) == ([3], 4)
    assert len(words(data, 0)) == 9  # [CLS] vote , again he said " no "
    assert words(data, 0, "x_test") == words(data, 3)
    assert data.inputs == ((12,), 4, data.vocabulary)
    assert data.vocabulary == 3 + 14
    assert data.origin["tokenizer"] == "substitute: word-level, 14 words"
    assert data.origin["sha256 train.csv"] == hashlib.sha256(NEWS.encode()).hexdigest()


def test_ag_news_in_two_columns_is_the_same(tmp_path):
    put(tmp_path, "ag_news", train=NEWS, test=NEWS)
    before = AGNews(tokenizer="words").load(tmp_path)
    two = NEWS.replace('again","He', "again He").replace('","A win', " A win")
    put(tmp_path, "ag_news", train=two.replace('","Up', " Up").replace('","New', " New"))
    after = AGNews(tokenizer="words").load(tmp_path)
    assert np.array_equal(before.x_train, after.x_train)


def test_the_share_of_ag_news_is_stratified_seeded_and_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(agnews_and_sst5, "_OFFICIAL", 80)
    rows = [f'"{i % 4 + 1}","word{i}"\n' for i in range(80)]
    put(tmp_path, "ag_news", train="".join(rows), test=NEWS)
    half = AGNews(tokenizer="words").load(tmp_path)
    assert np.bincount(half.y_train).tolist() == [10] * 4
    assert half.origin["rows"] == "40 of 80, seed 0"
    assert AGNews(tokenizer="words", share=1.0).load(tmp_path).origin["rows"].startswith("all 80")
    again, other = (AGNews(tokenizer="words", seed=seed) for seed in (0, 1))
    kept = [text for _, text in again._draw(_read_news(tmp_path / "ag_news/train.csv"))[0]]
    assert kept == sorted(kept, key=lambda text: int(text.removeprefix("word")))
    assert kept != [t for _, t in other._draw(_read_news(tmp_path / "ag_news/train.csv"))[0]]


def test_fewer_rows_than_asked_for_are_all_used_and_said_so(tmp_path):
    data = AGNews(tokenizer="words").load(put(tmp_path, "ag_news", train=NEWS, test=NEWS))
    assert len(data.y_train) == 4
    assert data.origin["rows"] == "all 4 of the file; 60000 were wanted"


def test_sst5_reads_labels_and_trees_alike(tmp_path):
    labels = SST5(tokenizer="words").load(put(tmp_path, "sst5", train=LABELS, test=LABELS))
    trees = SST5(tokenizer="words").load(put(tmp_path, "sst5", train=TREES, test=TREES + "\n\n"))
    for data in (labels, trees):
        assert data.y_train.tolist() == [0, 1, 2, 3, 4]
        assert len(words(data, 0)) == 4  # [CLS] word number 0
    assert np.array_equal(labels.x_test, trees.x_test)
    assert "sha256 test.txt" in trees.origin


def test_the_development_set_is_not_read_unless_asked_for(tmp_path):
    plain = SST5(tokenizer="words").load(put(tmp_path, "sst5", train=LABELS, test=LABELS))
    put(tmp_path, "sst5", dev="__label__9 nonsense")
    again = SST5(tokenizer="words").load(tmp_path)
    assert np.array_equal(again.x_train, plain.x_train)
    assert again.x_held_out is None
    refused(
        SST5(development=True),
        tmp_path,
        "line 1 is '__label__9 nonsense'",
        tmp_path / "sst5/dev.txt",
    )


def test_the_official_development_set_takes_the_place_of_held_out_training_texts(cpu, tmp_path):
    put(tmp_path, "sst5", train=LABELS * 4, test=LABELS, dev=TREES.splitlines()[3])
    sizes = {"layers": 1, "heads": 2, "dim": 8, "hidden": 8, "weights": "random"}
    spec = RunSpec(
        dataset={"sst5": {"tokenizer": "words", "development": True}},
        model={"distilbert": sizes},
        clients=2,
        validation=0.2,
    )
    problem = assemble(spec, {}, cpu, tmp_path)
    assert sorted(int(i) for rows in problem.rows for i in rows) == list(range(20))
    assert problem.scorers["val_"].y.tolist() == [3]
    assert words(problem.data, 0, "x_held_out") == words(problem.data, 3)
    assert "sha256 dev.txt" in problem.data.origin
    unscored = assemble(spec.changed(validation=0), {}, cpu, tmp_path)
    assert "val_" not in unscored.scorers
    shared = assemble(spec.changed(dataset={"sst5": {}}), {}, cpu, tmp_path)
    # One of four in each class is held out; two clients have seven each of the other fifteen.
    assert [len(rows) for rows in shared.rows] == [7, 7]


@pytest.mark.parametrize(
    ("tree", "grade", "sentence"),
    [
        ("(3 (2 (2 The) (2 film)) (4 shines))", 3, "The film shines"),
        ("(0 Awful)", 0, "Awful"),
        ("(2 (2 -LRB-) (2 (2 1\\/2) (2 -RRB-)))", 2, "( 1/2 )"),
        ("(1 (2 (2 and) (2 8\xa01\\/2)) (2 .))", 1, "and 8 1/2 ."),  # as in line 4,342 of train.txt
    ],
)
def test_trees_by_hand(tree, grade, sentence):
    assert root_and_words(tree) == (grade, sentence)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "()",
        "(3)",
        "(7 a)",
        "(x a)",
        "(2 a b)",
        "(2 (1 a)",
        "(2 (1 a)) b",
        "(2 a) (2 b)",
        "(2 a))",
    ],
)
def test_what_is_no_tree_is_refused(line):
    with pytest.raises(ValueError, match="is left when all nodes are folded"):
        root_and_words(line)


def test_a_deep_tree_is_read():
    depth = 3000
    assert root_and_words("(1 " * depth + "(2 a)" + ")" * depth) == (1, "a")


BAD_NEWS = [
    ("", "the training texts have 0 different labels; agnews has 4"),
    (" \n\n", "line 1 is [' ']; it must be AG News"),
    (b'"1","na\xefve"\n', "not UTF-8 text (byte 8)"),
    ('"5","title","text"\n', "line 1 is ['5', 'title', 'text']; it must be AG News as com"),
    ('"0","title"\n', "line 1 is ['0', 'title']"),
    ('"Class Index","Title"\n', "line 1 is ['Class Index', 'Title']"),
    ("just a sentence\n", "line 1 is ['just a sentence']; it must be AG News"),
    (NEWS + '"1","a","b","c"\n', "line 5 is ['1', 'a', 'b', 'c']"),
    (NEWS + "\n" + NEWS, "line 5 is []"),
    ('"1","",""\n', "line 1 is ['1', '', '']; it must"),
    ('"1","he said "no" again"\n', "line 1 is not comma-separated text (',' expected after '\"')"),
    (NEWS + '"1","never closed\n', "line 5 is not comma-separated text (unexpected end of data)"),
    ('"1","' + "x" * 200_000 + '"\n', "line 1 is not comma-separated text (field larger than"),
    ('"1","a"\n"2","b"\n', "the training texts have 2 different labels; agnews has 4"),
]


@pytest.mark.parametrize(("content", "sentence"), BAD_NEWS, ids=[s for _, s in BAD_NEWS])
def test_damaged_news_are_refused_naming_file_and_line(content, sentence, tmp_path):
    put(tmp_path, "ag_news", train=content, test=NEWS)
    refused(AGNews(), tmp_path, sentence, tmp_path / "ag_news")


BAD_REVIEWS = [
    ("", "the training texts have 0 different labels; sst5 has 5"),
    (b"__label__1 \xff", "not UTF-8 text (byte 12)"),
    ("__label__6 good\n", "line 1 is '__label__6 good' ('__label__6 good' is left"),
    ("__label__0 good\n", "line 1 is '__label__0 good'"),
    ("__label__ good\n", "line 1 is '__label__ good'"),
    ("a good film\n", "line 1 is 'a good film'"),
    (LABELS + "\n__label__3\n", "line 7 is '__label__3'"),
    ("(3 (2 a) (2 b)\n", "line 1 is '(3 (2 a) (2 b)' ('(3 x x' is left"),
    (TREES + "(5 (2 a) (2 b))\n", "line 6 is '(5 (2 a) (2 b))' ('(5 x x)' is left"),
    ("__label__1 bad\n", "the training texts have 1 different labels; sst5 has 5"),
]


@pytest.mark.parametrize(("content", "sentence"), BAD_REVIEWS, ids=[s for _, s in BAD_REVIEWS])
def test_damaged_reviews_are_refused_naming_file_and_line(content, sentence, tmp_path):
    put(tmp_path, "sst5", train=content, test=LABELS)
    refused(SST5(), tmp_path, sentence, tmp_path / "sst5")


def refused(source, folder, sentence, place):
    with pytest.raises(FedbenchError) as caught:
        source.load(folder)
    assert sentence in str(caught.value)
    assert str(place) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_in_the_files_place_is_refused(tmp_path):
    put(tmp_path, "ag_news", test=NEWS)
    (tmp_path / "ag_news" / "train.csv").mkdir()
    refused(AGNews(), tmp_path, "(Is a directory)", tmp_path / "ag_news" / "train.csv")


@pytest.mark.parametrize(
    ("source", "missing", "layout"),
    [
        (AGNews(), "ag_news/train.csv", "AG News as comma"),
        (SST5(), "sst5/train.txt", "SST-5, one sen"),
    ],
)
def test_missing_files_are_named_with_both_remedies(source, missing, layout, tmp_path):
    refused(source, tmp_path, "could not be downloaded (OSError: no network)", missing)
    refused(source, tmp_path, f"put {layout}", tmp_path)
    refused(source, tmp_path, "run once with a network connection", tmp_path)
    assert not list(tmp_path.rglob("*.*"))


def test_a_download_with_the_published_checksum_is_kept(tmp_path, monkeypatch):
    remotes = {f"{p}.csv": (p, digest(NEWS.encode())) for p in ("train", "test")}
    monkeypatch.setattr(agnews_and_sst5, "_NEWS_REMOTES", remotes)
    asked = network.serve(monkeypatch, NEWS.encode())
    first, second = (AGNews().load(tmp_path) for _ in range(2))
    assert asked == ["train", "test"]
    assert np.array_equal(first.x_test, second.x_test)


def test_a_download_with_another_checksum_is_refused(tmp_path, monkeypatch):
    network.serve(monkeypatch, b"<html>not found</html>")
    refused(AGNews(), tmp_path, f"not {AG_NEWS}; put AG News", tmp_path / "ag_news" / "train.csv")
    refused(SST5(), tmp_path, f"not {REVIEWS}; put SST-5", tmp_path / "sst5" / "train.txt")
    assert not list(tmp_path.rglob("*.*"))


def test_the_published_archive_gives_the_missing_files_and_nothing_else(tmp_path, monkeypatch):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as trees:
        for name in ("trees/train.txt", "trees/dev.txt", "trees/test.txt", "../outside.txt"):
            trees.writestr(name, TREES)
    monkeypatch.setattr(agnews_and_sst5, "_REVIEWS_REMOTE", ("zip", digest(archive.getvalue())))
    network.serve(monkeypatch, archive.getvalue())
    (tmp_path / "data").mkdir()
    folder = put(tmp_path / "data", "sst5", test=LABELS)
    assert len(SST5().load(folder).y_train) == 5
    found = {str(f.relative_to(tmp_path)) for f in tmp_path.rglob("*.*")}
    assert found == {"data/sst5/train.txt", "data/sst5/test.txt"}
    assert len(SST5(development=True).load(folder).y_held_out) == 5
    assert (folder / "sst5/test.txt").read_text() == LABELS


def digest(content):
    return hashlib.sha256(content).hexdigest()


def test_sources_are_found_by_name():
    assert {"agnews", "sst5", "topics", "grades"} <= set(registry.entries("dataset"))
    spec = RunSpec(dataset={"agnews": {"length": 128}})
    assert spec.settings()["dataset"] == "agnews"


@pytest.mark.parametrize(
    ("source", "sha", "counts"),
    [
        (Topics(), "a018bdde5e26", [125, 125, 125, 125]),
        (Grades(), "84c3c1c2bc3f", [30, 147, 127, 160, 36]),
    ],
)
def test_embedded_texts_are_fixed(source, sha, counts, tmp_path):
    data = source.load(tmp_path)
    everything = (data.x_train, data.y_train, data.x_test, data.y_test)
    assert digest(b"".join(a.tobytes() for a in everything))[:12] == sha
    assert (len(data.y_train), len(data.y_test)) == source.SAMPLES
    assert np.bincount(data.y_test).tolist() == counts
    assert source.largest_class() == max(counts)
    assert not (data.x_test == 1).any()  # every word of the test set is known
    assert data.origin["tokenizer"].startswith("substitute: word-level")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("source", "few", "many"),
    [(Topics(), (0.85, 0.98), (0.95, 0.999)), (Grades(), (0.35, 0.5), (0.6, 0.8))],
)
def test_a_bag_of_words_from_few_samples_is_above_chance_and_never_perfect(source, few, many):
    data = source.load(None)
    bag = [
        np.stack([np.bincount(r, minlength=200) for r in x]) for x in (data.x_train, data.x_test)
    ]
    for n, (low, high) in ((40, few), (2_000, many)):
        assert low < naive_bayes(bag[0][:n], data.y_train[:n], bag[1], data.y_test) < high


def naive_bayes(bag, y, test_bag, y_test):
    """Accuracy of multinomial naive Bayes with one extra count a word."""
    one_hot = np.eye(y.max() + 1)[y]
    counts = one_hot.T @ bag + 1
    log = np.log(counts / counts.sum(axis=1, keepdims=True))
    return ((test_bag @ log.T + np.log(one_hot.mean(axis=0))).argmax(axis=1) == y_test).mean()


def real(name):
    folder = data_folder()
    if not (folder / name).exists():
        pytest.skip(f"no {name} in the data folder (set FEDBENCH_DATA)")
    return folder


def test_the_real_reviews_have_the_published_counts():
    data = SST5(tokenizer="words").load(real("sst5"))
    assert np.bincount(data.y_train).tolist() == [1092, 2218, 1624, 2322, 1288]
    assert np.bincount(data.y_test).tolist() == [279, 633, 389, 510, 399]
    assert (data.x_train == 1).sum() == 0  # the substitute knows all 15,317 words
    assert 0.02 < (data.x_test == 1).sum() / (data.x_test > 2).sum() < 0.08


def test_the_real_news_have_four_topics():
    train, test = (_read_news(real("ag_news") / f"ag_news/{p}.csv") for p in ("train", "test"))
    assert np.bincount([label for label, _ in test]).tolist() == [1900] * 4
    assert len({label for label, _ in train}) == 4
    assert not {text for _, text in train} & {text for _, text in test}


def test_the_seed_of_a_draw_is_refused_where_all_texts_are_taken(refuses):
    with refuses("seed = 3 has no effect with share = 1"):
        AGNews(share=1.0, seed=3)
    assert AGNews(share=0.5, seed=3).seed == 3

"""A data set of one's own, and the embedded substitutes: what comes out, by hand."""

import functools
import hashlib
import random
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

from fedbench import Dataset, RunSpec, run
from fedbench.base.errors import FedbenchError
from fedbench.data import npz_and_csv_files
from fedbench.data.npz_and_csv_files import Samples, split
from fedbench.data.sources.digits_and_points import DigitPairs, Digits, Toy, _draw
from fedbench.data.sources.file import File


def test_pairs_are_two_digits_of_their_own_half_of_the_data(tmp_path):
    data, digits = DigitPairs().load(tmp_path), Digits().load(tmp_path)
    assert data.shape == DigitPairs.SHAPE == (1, 16, 16)
    assert (len(data.y_train), len(data.y_test)) == DigitPairs.SAMPLES
    assert np.bincount(data.y_train).tolist() == [60] * 100
    assert np.bincount(data.y_test).tolist() == [20] * 100
    assert DigitPairs().largest_class() == 20
    for part in ("train", "test"):
        x, y = getattr(data, f"x_{part}"), getattr(data, f"y_{part}")
        source, labels = getattr(digits, f"x_{part}"), getattr(digits, f"y_{part}")
        known = {(image.tobytes(), int(c)) for image, c in zip(source, labels, strict=True)}
        assert not x[:, :4].any()
        assert not x[:, 12:].any()
        for image, c in zip(x, y, strict=True):
            assert (image[4:12, :8].tobytes(), c // 10) in known
            assert (image[4:12, 8:].tobytes(), c % 10) in known
    assert data.origin["source"].startswith("substitute: pairs of scikit-learn")
    assert not list(tmp_path.iterdir())


def test_pairs_are_fixed_and_never_twice():
    data = DigitPairs().load(None)
    sha = hashlib.sha256(data.x_train.tobytes() + data.x_test.tobytes()).hexdigest()
    assert sha[:12] == data.origin["sha256"][:12] == "b0260a44455f"
    left, right = np.array([3, 5]), np.array([7, 8, 9])
    everything = {(a, b) for a in (3, 5) for b in (7, 8, 9)}
    assert sorted(_draw(left, right, 6, random.Random(1))) == sorted(everything)  # noqa: S311


def test_fewer_classes_are_the_first_ones():
    whole, few = DigitPairs(), DigitPairs(train=60, test=2, classes=20)
    data = few.load(None)
    assert data.classes == 20
    assert few.samples() == (1_200, 40)
    assert np.bincount(data.y_train).tolist() == [60] * 20
    assert np.array_equal(data.x_train, whole.load(None).x_train[:1_200])


def test_toy_points_are_the_quadrants_of_a_square():
    data = Toy().load(None)
    assert data.inputs == ((2,), 4, 0)
    assert (len(data.y_train), len(data.y_test)) == Toy.SAMPLES
    assert Toy().largest_class() == np.bincount(data.y_test).max()
    assert 3.9 < np.abs(data.x_train).max() < 4
    corner = {0: (1, 1), 1: (-1, 1), 2: (-1, -1), 3: (1, -1)}  # counter-clockwise
    for point, label in zip(data.x_train, data.y_train, strict=True):
        assert tuple(np.sign(point)) == corner[int(label)]
    assert min(np.bincount(data.y_train)) > 60
    assert data.origin["sha256"][:12] == "fdb816c047a8"
    assert not np.array_equal(Toy(seed=1).load(None).x_test, data.x_test)


def npz(folder, **arrays):
    np.savez(folder / "mine.npz", **arrays)
    return File(path="mine.npz")


def test_four_arrays_are_taken_as_they_are(tmp_path):
    x = np.arange(32, dtype=np.uint8).reshape(8, 2, 2)
    y = np.array([5, 7, 9, 5, 7, 9, 5, 7])
    data = npz(tmp_path, x_train=x[:6], y_train=y[:6], x_test=x[6:], y_test=y[6:]).load(tmp_path)
    assert np.array_equal(data.x_train, x[:6])
    assert data.y_train.tolist() == [0, 1, 2, 0, 1, 2]
    assert data.y_test.tolist() == [0, 1]
    assert (data.classes, data.shape) == (3, (1, 2, 2))
    assert data.origin["labels"] == "5, 7, 9"
    sha = hashlib.sha256((tmp_path / "mine.npz").read_bytes()).hexdigest()
    assert data.origin["sha256"] == sha
    assert "test set" not in data.origin


@pytest.mark.parametrize(("field", "value"), [("test", 0.5), ("seed", 7)])
def test_what_draws_a_test_set_is_refused_where_the_file_has_one(tmp_path, refuses, field, value):
    x, y = np.zeros((8, 2)), np.arange(8) % 2
    whole = npz(tmp_path, x_train=x[:6], y_train=y[:6], x_test=x[6:], y_test=y[6:])
    with refuses(f"{field} = {value}.* has no effect on the test set, for the file has x_test"):
        replace(whole, **{field: value}).load(tmp_path)
    assert len(replace(whole, test=0.2, seed=0).load(tmp_path).y_test) == 2
    drawn = replace(npz(tmp_path, x=x, y=y), **{field: value}).load(tmp_path)
    assert len(drawn.y_test) == {"test": 4, "seed": 2}[field]


def test_images_of_a_file_may_have_their_channels_first(tmp_path, refuses):
    x, y = np.random.default_rng(0).random((20, 3, 16, 16)), np.arange(20) % 2
    source = npz(tmp_path, x=x, y=y)
    with refuses(r"mine.npz\): x_train has shape \(16, 3, 16, 16\): with 16 channels"):
        source.load(tmp_path)
    data = replace(source, channels="first").load(tmp_path)
    assert data.shape == (3, 16, 16)
    rows = [
        np.flatnonzero((x.transpose(0, 2, 3, 1) == each).all((1, 2, 3))) for each in data.x_test
    ]
    assert [len(found) for found in rows] == [1] * 4
    (tmp_path / "mine.csv").write_text("a,kind\n" + "1,x\n2,y\n" * 5)
    with refuses(r"leave channels = 'first' out, for x_train has shape \(8, 1\)"):
        File(path="mine.csv", channels="first").load(tmp_path)


def test_arrays_of_another_byte_order_are_the_same_data(cpu, tmp_path):
    x, y = np.linspace(0, 1, 40, dtype="<f4").reshape(20, 2), np.arange(20, dtype="<i8") % 2
    usual = npz(tmp_path, x=x, y=y).load(tmp_path)
    swapped = npz(tmp_path, x=x.astype(">f4"), y=y.astype(">i8")).load(tmp_path)
    assert swapped.x_train.dtype.isnative
    assert swapped.checksum == usual.checksum
    spec = RunSpec(model={"mlp": {"hidden": 2}}, clients=2, rounds=1)
    assert run(spec, data=swapped, machine=cpu).status == "finished"
    z = np.array([0.5, 1.0], ">f8")  # labels that are no classes
    assert Dataset("line", z.reshape(2, 1), z, z.reshape(2, 1), z, 0).y_train.dtype.isnative


def test_one_pair_of_arrays_is_split_by_class_and_seed(tmp_path):
    words = np.array(["dog", "cat", "cat", "cat"] * 10)
    source = npz(tmp_path, x=np.arange(40.0).reshape(40, 1), y=words)
    data = source.load(tmp_path)
    assert np.bincount(data.y_test).tolist() == [6, 2]  # a fifth of 30 cats and of 10 dogs
    assert np.bincount(data.y_train).tolist() == [24, 8]
    everything = np.concatenate([data.x_train, data.x_test]).ravel()
    assert sorted(everything) == list(range(40))
    for x, y in ((data.x_train, data.y_train), (data.x_test, data.y_test)):
        assert (y == (x.ravel() % 4 == 0)).all()  # cat is 0, dog 1, and rows stay with labels
    assert data.origin["labels"] == "cat, dog"
    assert data.origin["test set"] == "0.2 of every class, drawn by seed 0"
    assert np.array_equal(source.load(tmp_path).x_test, data.x_test)
    other = File(path="mine.npz", seed=1).load(tmp_path)
    assert not np.array_equal(other.x_test, data.x_test)


TABLE = '\ufeff"size, in m",kind,weight\n1.5,b,2\n-3e2,a,4\n\n1,"b",6\n 2 ,a,8\n'


def test_a_table_has_labels_in_the_column_named(tmp_path):
    (tmp_path / "mine.csv").write_text(TABLE)
    data = File(path="mine.csv", label="kind", test=0.5).load(tmp_path)
    rows = np.concatenate([data.x_train, data.x_test])
    labels = np.concatenate([data.y_train, data.y_test])
    assert rows.dtype == np.float32
    found = {tuple(row): int(label) for row, label in zip(rows.tolist(), labels, strict=True)}
    assert found == {(1.5, 2.0): 1, (-300.0, 4.0): 0, (1.0, 6.0): 1, (2.0, 8.0): 0}
    assert np.bincount(data.y_test).tolist() == [1, 1]


def test_the_last_column_is_the_label_and_a_path_may_be_absolute(tmp_path):
    (tmp_path / "mine.CSV").write_text("a,b\n" + "1,10\n2,9\n" * 3)
    data = File(path=str(tmp_path / "mine.CSV")).load(tmp_path / "elsewhere")
    assert data.origin["labels"] == "9, 10"  # as numbers, not as words
    assert sorted(data.x_train[data.y_train == 1].ravel()) == [1, 1]


@pytest.mark.parametrize(
    ("head", "labels", "told"),
    [
        ("a,code", ["01", "1", "2"], "01, 1, 2"),  # codes that differ, though not as numbers
        ("a,kind", ["1_1", "1_2"], "1_1, 1_2"),  # which Python reads as 11 and 12
        ("1_1,kind", ["x", "y"], "x, y"),
        ("nan,kind", ["inf", "1"], "1, inf"),
    ],
)
def test_labels_are_told_apart_as_they_are_written(head, labels, told, tmp_path):
    rows = "".join(f"{i},{label}\n" for i in range(3) for label in labels)
    (tmp_path / "mine.csv").write_text(f"{head}\n{rows}")
    assert File(path="mine.csv").load(tmp_path).origin["labels"] == told


def test_a_table_to_test_on_may_lack_the_labels_that_are_words(tmp_path):
    (tmp_path / "mine.csv").write_text("a,kind\n1,0\n2,1\n3,unknown\n")
    (tmp_path / "test.csv").write_text("a,kind\n1,1\n2,0\n")
    data = File(path="mine.csv", test_path="test.csv").load(tmp_path)
    assert (data.y_train.tolist(), data.y_test.tolist()) == ([0, 1, 2], [1, 0])


def test_labels_are_numbers_or_words_in_both_tables_alike(tmp_path):
    (tmp_path / "mine.csv").write_text("a,code\n1,01\n2,1\n3,2\n")
    (tmp_path / "test.csv").write_text("a,code\n4,01\n5,2\n")
    data = File(path="mine.csv", test_path="test.csv").load(tmp_path)
    assert (data.y_train.tolist(), data.y_test.tolist()) == ([0, 1, 2], [0, 2])
    assert data.origin["labels"] == "01, 1, 2"


def test_a_large_table_is_read_in_pieces_and_as_exactly_as_python_reads_it(tmp_path, monkeypatch):
    monkeypatch.setattr(npz_and_csv_files, "_CELLS", 7 * 3)
    rng = np.random.default_rng(0)
    values = rng.normal(size=(50, 2)) * 10.0 ** rng.integers(-30, 30, (50, 2))
    rows = [f"{a!r},{b!r},{['no', 'yes'][i % 2]}" for i, (a, b) in enumerate(values.tolist())]
    (tmp_path / "mine.csv").write_text("\r\n".join(["a,b,kind", *rows]))
    table = npz_and_csv_files.read_csv(tmp_path / "mine.csv", "")[0]
    assert table.x.tolist() == values.astype(np.float32).tolist()
    assert table.y.tolist() == ["no", "yes"] * 25
    (tmp_path / "bad.csv").write_text("\n".join(["a,b,kind", *rows[:20], "", *rows[:20], "1,x,no"]))
    with pytest.raises(FedbenchError, match=r"^line 43, column 'b' has 'x'"):
        npz_and_csv_files.read_csv(tmp_path / "bad.csv", "")


def test_true_and_false_beside_numbers_are_refused_across_pieces(tmp_path, monkeypatch, refuses):
    monkeypatch.setattr(npz_and_csv_files, "_CELLS", 2 * 2)
    (tmp_path / "mine.csv").write_text("a,kind\ntrue,x\nfalse,y\n3,x\n4,y\n")
    with refuses("column 'a' mixes true and false with numbers"):
        npz_and_csv_files.read_csv(tmp_path / "mine.csv", "")


def test_a_column_of_true_and_false_is_1_and_0(tmp_path):
    (tmp_path / "mine.csv").write_text("a,kind\nTrue,None of these\nFalse,none\n")
    table = npz_and_csv_files.read_csv(tmp_path / "mine.csv", "kind")[0]
    assert table.x.tolist() == [[1.0], [0.0]]
    assert table.y.tolist() == ["None of these", "none"]  # classes, not missing values


def test_an_unnamed_column_may_be_a_feature(tmp_path):
    (tmp_path / "mine.csv").write_text(",a,kind\n1,1,x\n1,2,y\n")
    assert npz_and_csv_files.read_csv(tmp_path / "mine.csv", "kind")[1] == ("", "a")


def test_a_file_can_be_trained_on(cpu, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(200) % 4
    x = rng.normal(size=(200, 4)) + 4 * np.eye(4)[y]
    npz(tmp_path, x=x, y=y)
    spec = RunSpec(dataset={"file": {"path": "mine.npz"}}, clients=4, rounds=10, lr=0.5)
    found = run(spec, data_dir=tmp_path, machine=cpu)
    assert found.history["accuracy"].iloc[-1] > 0.9


def test_a_table_learns_once_it_is_normalised_and_a_warning_says_so(cpu, tmp_path):
    cancer = load_breast_cancer(as_frame=True)
    table = cancer.data.rename(columns=lambda name: name.replace(" ", "_"))
    table.assign(label=cancer.target).to_csv(tmp_path / "cancer.csv", index=False)
    spec = RunSpec(dataset={"file": {"path": "cancer.csv"}}, clients=5, rounds=10, lr=0.5)
    train = functools.partial(run, data_dir=tmp_path, machine=cpu)
    with pytest.warns(UserWarning, match="mean_radius, mean_texture, .* set normalise: true"):
        raw = train(spec).history["accuracy"].iloc[-1]
    assert raw == pytest.approx(0.628, abs=0.001)  # the share of the larger class
    with warnings.catch_warnings(action="error"):
        scaled = train(spec.changed(normalise=True)).history["accuracy"].iloc[-1]
    assert scaled > 0.95


@settings(max_examples=60, deadline=None)
@given(
    y=st.lists(st.integers(0, 4), min_size=1, max_size=60),
    share=st.floats(0.01, 0.99),
    seed=st.integers(0, 3),
)
def test_a_share_of_every_class_is_set_apart_and_none_is_emptied(y, share, seed):
    y = np.array(y)
    wanted = [min(round(share * count), count - 1) for count in np.unique(y, return_counts=True)[1]]
    assume(any(wanted))
    (train, test), again = (split(Samples(np.arange(len(y)), y), y, share, seed) for _ in range(2))
    assert [(test.y == label).sum() for label in np.unique(y)] == wanted
    assert np.array_equal(np.sort(np.r_[train.x, test.x]), np.arange(len(y)))
    assert np.array_equal(test.x, again[1].x)


@pytest.mark.parametrize("source", [DigitPairs(train=3, test=1), Toy(train=9, test=5)])
def test_sizes_are_parameters(source):
    data, times = source.load(None), 100 if isinstance(source, DigitPairs) else 1
    assert (len(data.y_train), len(data.y_test)) == (times * source.train, times * source.test)

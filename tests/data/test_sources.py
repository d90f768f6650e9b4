"""Sources read one file, refuse a bad one by name, and fetch a missing one once."""

import hashlib
from types import SimpleNamespace

import numpy as np
import pytest
import torchvision

from fedbench.base import registry
from fedbench.data import image_sets, npz_and_csv_files
from fedbench.data.source import data_folder
from fedbench.data.sources.digits_and_points import Digits
from fedbench.data.sources.public_images import CIFAR10, CIFAR100, MNIST
from tests.data.test_archive import arrays

FETCHED = [(MNIST, (28, 28), 10), (CIFAR10, (32, 32, 3), 10), (CIFAR100, (32, 32, 3), 100)]
NAMES = ["mnist", "cifar10", "cifar100"]


@pytest.fixture
def offline(monkeypatch):
    def fail(root, train, download):
        raise OSError("no network")

    for name in ("MNIST", "CIFAR10", "CIFAR100"):
        monkeypatch.setattr(torchvision.datasets, name, fail)
    monkeypatch.setattr(image_sets, "obtain", lambda remote, file, remedy: None)


def test_every_source_is_found_by_name():
    assert {"digits", "mnist", "cifar10", "cifar100"} <= set(registry.entries("dataset"))
    assert registry.build("dataset", "digits", {}) == Digits()


def test_digits_are_those_of_scikit_learn(tmp_path):
    from sklearn.datasets import load_digits

    data, theirs = Digits().load(tmp_path), load_digits()
    test = np.zeros(1797, dtype=bool)
    for digit in range(10):
        test[np.flatnonzero(theirs.target == digit)[4::5]] = True  # every fifth of each class
    assert np.array_equal(data.x_test, np.rint(theirs.images[test] * 255 / 16))
    assert np.array_equal(data.y_train, theirs.target[~test])


def test_digits_are_stratified_scaled_and_fixed(tmp_path):
    data = Digits().load(tmp_path)
    assert data.x_train.shape == (1442, 8, 8)
    assert data.x_test.shape == (355, 8, 8)
    assert data.shape == (1, 8, 8)
    assert data.x_train.dtype == np.uint8
    assert data.x_train.max() == 255
    assert data.x_train[0, 0].tolist() == [0, 0, 80, 207, 143, 16, 0, 0]  # 0 0 5 13 9 1 0 0 of 16
    per_class = np.bincount(data.y_test) / (np.bincount(data.y_test) + np.bincount(data.y_train))
    assert np.all(np.abs(per_class - 0.2) < 0.01)
    again = Digits().load(tmp_path)
    assert np.array_equal(again.x_test, data.x_test)
    assert len(data.origin["sha256"]) == 64
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("source", "sample", "classes"), FETCHED, ids=NAMES)
def test_npz_is_read_and_its_checksum_recorded(source, sample, classes, tmp_path, offline):
    kept = arrays(sample, classes)
    file = tmp_path / f"{source.__name__.lower()}.npz"
    npz_and_csv_files.write_npz(file, kept)
    data = source().load(tmp_path)
    assert all(np.array_equal(getattr(data, field), kept[field]) for field in kept)
    assert data.classes == classes
    assert len(data.normalisation.mean) == len(data.normalisation.std) == data.shape[0]
    assert data.origin["file"] == str(file)
    assert data.origin["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_a_note_says_how_the_images_differ_from_the_published_ones(tmp_path, offline):
    npz_and_csv_files.write_npz(tmp_path / "cifar10.npz", arrays((32, 32, 3), 10))
    assert "deviation" not in CIFAR10().load(tmp_path).origin
    (tmp_path / "cifar10.deviation.txt").write_text("2 of 60,000 images\nare copies.\n")
    assert CIFAR10().load(tmp_path).origin["deviation"] == "2 of 60,000 images are copies."


def test_missing_file_is_named_with_both_remedies(refuses, tmp_path, offline):
    with refuses() as caught:
        MNIST().load(tmp_path)
    message = str(caught.value)
    assert str(tmp_path / "mnist.npz") in message
    assert "OSError: no network" in message
    assert "x_train, y_train, x_test, y_test" in message
    assert "network connection" in message


def test_download_becomes_one_npz_that_the_next_load_reads(tmp_path, monkeypatch):
    kept, calls = arrays((32, 32, 3), 10), []

    def download(root, train, download):
        calls.append((root, train, download))
        part = "train" if train else "test"
        return SimpleNamespace(data=kept[f"x_{part}"], targets=kept[f"y_{part}"].tolist())

    def obtain(remote, file, remedy):
        calls.append((remote[0], file))

    monkeypatch.setattr(torchvision.datasets, "CIFAR10", download)
    monkeypatch.setattr(image_sets, "obtain", obtain)
    first, second = CIFAR10().load(tmp_path), CIFAR10().load(tmp_path)
    root = tmp_path / "torchvision"
    url = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    fetched = (url, root / "cifar-10-python.tar.gz")  # by us, before torchvision looks
    assert calls == [fetched, (root, True, True), (root, False, True)]
    assert np.array_equal(first.x_test, kept["x_test"])
    assert np.array_equal(first.y_train, kept["y_train"])
    assert first.origin == second.origin


def bad_file(change):
    return {**arrays(), **change}


BAD = [
    (bad_file({"x_train": np.zeros((10, 28, 28))}), "float64 and shape (28, 28); images of mnist"),
    (bad_file({"x_test": np.zeros((5, 32, 32, 3), np.uint8)}), "x_test has samples of uint8 and s"),
    (bad_file({"x_train": np.uint8(3)}), "x_train has samples of uint8 and shape (); images of"),
    (bad_file({"y_train": np.arange(10.0)}), "dtype float64 and shape (10,); labels of 10 cl"),
    (bad_file({"y_train": np.arange(1, 11)}), "y_train has label 10 at position 9; labels must be"),
    (bad_file({"y_train": np.arange(10) % 7}), "y_train has 7 different labels; mnist has 10"),
    (bad_file({"y_test": np.arange(4)}), "x_test has 5 samples, but y_test 4 labels"),
    (bad_file({"y_test": np.zeros((5, 1), int)}), "y_test has dtype int64 and shape (5, 1);"),
    (bad_file({"x_test": np.zeros((0, 28, 28), np.uint8), "y_test": np.zeros(0, int)}), "is empty"),
]


@pytest.mark.parametrize(("kept", "sentence"), BAD, ids=[sentence for _, sentence in BAD])
def test_wrong_arrays_are_refused_naming_file_and_field(refuses, kept, sentence, tmp_path, offline):
    npz_and_csv_files.write_npz(tmp_path / "mnist.npz", kept)
    with refuses() as caught:
        MNIST().load(tmp_path)
    assert f"mnist ({tmp_path / 'mnist.npz'}): " in str(caught.value)
    assert sentence in str(caught.value)


def test_the_smaller_cifar_under_the_larger_ones_name_is_noticed(refuses, tmp_path, offline):
    npz_and_csv_files.write_npz(tmp_path / "cifar100.npz", arrays((32, 32, 3), 10))
    with refuses("y_train has 10 different labels; cifar100 has 100"):
        CIFAR100().load(tmp_path)


def test_missing_array_is_named(refuses, tmp_path, offline):
    kept = arrays()
    del kept["y_test"]
    np.savez(tmp_path / "mnist.npz", **kept)
    with refuses(r"mnist.npz\): y_test is missing; .* x_test$"):
        MNIST().load(tmp_path)


def test_data_folder_is_argument_then_environment_then_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path / "env"))
    assert data_folder(tmp_path / "given") == tmp_path / "given"
    assert data_folder() == tmp_path / "env"
    monkeypatch.setenv("FEDBENCH_DATA", "")
    assert data_folder().name == "fedbench"


@pytest.mark.parametrize(("source", "sample", "classes"), FETCHED, ids=NAMES)
def test_real_files_have_the_published_counts_and_statistics(source, sample, classes):
    file = data_folder() / f"{source.__name__.lower()}.npz"
    if not file.exists():
        pytest.skip(f"no {file.name} in the data folder (set FEDBENCH_DATA)")
    data = source().load(file.parent)
    train = 60_000 if source is MNIST else 50_000
    assert (len(data.x_train), len(data.x_test)) == (train, 10_000)
    assert data.x_train.shape[1:] == sample
    assert len(np.unique(data.y_test)) == classes
    assert np.bincount(data.y_test).max() == source().largest_class()
    values = np.arange(256) / 255
    for channel, mean, std in zip(range(data.shape[0]), *data.normalisation, strict=True):
        pixels = data.x_train.reshape(-1, data.shape[0])[:, channel]
        share = np.bincount(pixels, minlength=256) / pixels.size
        assert share @ values == pytest.approx(mean, abs=2e-4)
        assert share @ values**2 - mean**2 == pytest.approx(std**2, abs=2e-4)

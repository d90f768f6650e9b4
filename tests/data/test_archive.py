"""Damaged, foreign and interrupted files: refused in a sentence, never half seen."""

import os
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbench.base.errors import FedbenchError
from fedbench.data import npz_and_csv_files
from fedbench.data.sources.public_images import CIFAR10, MNIST


def arrays(sample=(28, 28), classes=10):
    rng = np.random.default_rng(0)
    y = np.arange(classes)
    x = rng.integers(0, 256, (classes, *sample), dtype=np.uint8)
    return {"x_train": x, "y_train": y, "x_test": x[:5], "y_test": y[:5]}


def test_pickled_objects_are_never_loaded(refuses, tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "exploded"),)

    np.savez(tmp_path / "mnist.npz", **{**arrays(), "x_test": np.array([Bomb()], object)})
    with pytest.raises(
        FedbenchError, match=r"mnist.npz\): x_test cannot be read \(ValueError: Obj"
    ):
        MNIST().load(tmp_path)
    (tmp_path / "mnist.npz").write_bytes(pickle.dumps(Bomb()))
    with refuses("not a readable npz archive"):
        MNIST().load(tmp_path)
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("content", [b"", b"P", b"PK\x03\x04", b"not an archive\n" * 9])
def test_empty_and_foreign_files_are_refused(refuses, content, tmp_path):
    (tmp_path / "mnist.npz").write_bytes(content)
    with refuses(r"mnist.npz\): the file is not a readable npz archive"):
        MNIST().load(tmp_path)


def test_a_lone_array_and_a_folder_are_refused(refuses, tmp_path):
    with (tmp_path / "mnist.npz").open("wb") as stream:
        np.save(stream, np.zeros(3))
    with refuses("holds a single array; it must be an npz archive"):
        MNIST().load(tmp_path)
    (tmp_path / "cifar10.npz").mkdir()
    with refuses(r"cifar10.npz.*not a readable npz archive"):
        CIFAR10().load(tmp_path)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    file = tmp_path_factory.mktemp("sound") / "mnist.npz"
    npz_and_csv_files.write_npz(file, arrays())
    return file.read_bytes()


def load_or_refusal(source, folder):
    try:
        return source.load(folder), ""
    except FedbenchError as error:
        return None, str(error)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_truncated_or_damaged_files_are_refused_or_read_but_never_crash(
    data, sound, tmp_path_factory
):
    folder = tmp_path_factory.mktemp("damaged")
    bad = bytearray(sound)
    at = data.draw(st.integers(0, len(bad) - 1))
    if data.draw(st.booleans()):
        del bad[at:]
    else:
        bad[at] ^= data.draw(st.integers(1, 255))
    (folder / "mnist.npz").write_bytes(bad)
    loaded, refusal = load_or_refusal(MNIST(), folder)
    if loaded:
        assert all(np.array_equal(getattr(loaded, k), v) for k, v in arrays().items())
    else:
        assert str(folder / "mnist.npz") in refusal


def test_an_interrupted_write_leaves_the_old_file_and_no_scratch(tmp_path, monkeypatch):
    file = tmp_path / "mnist.npz"
    npz_and_csv_files.write_npz(file, arrays())
    before = file.read_bytes()

    def interrupted(stream, **kept):
        stream.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", interrupted)
    with pytest.raises(KeyboardInterrupt):
        npz_and_csv_files.write_npz(file, arrays())
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_a_reader_of_the_old_file_never_sees_a_mixture(tmp_path):
    file = tmp_path / "mnist.npz"
    file.write_bytes(b"old")
    with file.open("rb") as reader:
        npz_and_csv_files.write_npz(file, arrays())
        assert reader.read() == b"old"

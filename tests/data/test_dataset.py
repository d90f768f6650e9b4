"""`Dataset` refuses what cannot be trained on, in a sentence that names the place."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fedbench.data.dataset import Dataset, Normalisation
from fedbench.engine.preprocessing import samples

GREY = {
    "name": "toy",
    "x_train": np.zeros((4, 3, 2), np.uint8),
    "y_train": np.array([0, 1, 2, 0]),
    "x_test": np.zeros((2, 3, 2), np.uint8),
    "y_test": np.array([1, 2]),
    "classes": 3,
}


def make(**changes):
    return Dataset(**{**GREY, **changes})


def test_shapes_are_those_a_network_sees():
    colour = {part: np.zeros((n, 3, 2, 5), np.uint8) for part, n in (("x_train", 4), ("x_test", 2))}
    vectors = {part: np.zeros((n, 7), np.float32) for part, n in (("x_train", 4), ("x_test", 2))}
    assert make().shape == (1, 3, 2)
    assert make(**colour).shape == (5, 3, 2)
    assert make(**vectors).shape == (7,)


def test_one_weight_problem_by_hand_has_float_labels_and_no_classes():
    x, y = np.array([[1.0], [2.0]]), np.array([2.0, 6.0])
    data = Dataset("line", x, y, x, y, classes=0)
    assert data.shape == (1,)
    assert data.y_train is y
    assert data.normalisation is None


def test_where_it_is_from_is_kept_in_words():
    assert make(origin={"file": Path("x.npz"), "year": 2020}).origin == {
        "file": "x.npz", "year": "2020",
    }  # fmt: skip


@pytest.mark.parametrize("kind", [np.uint8, np.int32, np.int64, np.uint64])
def test_labels_of_any_integer_type_become_int64(kind):
    data = make(y_train=np.array([0, 1, 2, 0], kind))
    assert data.y_train.dtype == np.int64
    assert data.y_train.tolist() == [0, 1, 2, 0]


def images(*sample, count=4, **more):
    rng = np.random.default_rng(0)
    x, y = rng.random((count, *sample)), np.arange(count) % 2
    return x, lambda **kind: Dataset("own", x, y, x, y, 2, **more, **kind)


@pytest.mark.parametrize(
    "sample",
    [(3, 16, 16), (1, 28, 28), (3, 24, 32), (12, 9, 9), (64, 7, 7), (9, 1, 128), (3, 1, 128)],
)
def test_images_with_their_channels_first_are_refused_unless_it_is_said(refuses, sample):
    x, make = images(*sample)
    with refuses(
        rf"^own: x_train has shape .* with {sample[2]} channels if it is \(N, H, W, C\); say "
        r"`channels: last` if it is, or `channels: first` if it is \(N, C, H, W\)"
    ):
        make()
    first, last = make(channels="first"), make(channels="last")
    assert first.shape == sample
    assert np.array_equal(first.x_train, x.transpose(0, 2, 3, 1))
    assert last.shape == (sample[2], sample[0], sample[1])
    assert last.x_train is x
    assert replace(first, name="other").shape == sample
    assert replace(last, name="other").shape == last.shape


def test_the_network_sees_images_with_their_channels_first_as_they_were():
    x, make = images(3, 16, 16)
    data = make(channels="first")
    seen, _ = samples(data.x_train, data.y_train, torch.device("cpu"), torch.float32)
    assert np.array_equal(seen.numpy(), x)
    y, usual = np.arange(4) % 2, x.transpose(0, 2, 3, 1).copy()
    same = Dataset("own", usual, y, usual, y, 2)
    assert data.checksum == same.checksum


@pytest.mark.parametrize("sample", [(16, 16, 3), (24, 32, 1), (7, 7, 512), (8, 8, 8), (4, 4, 5)])
def test_an_order_that_is_plain_need_not_be_said(sample):
    assert images(*sample)[1]().shape == (sample[2], *sample[:2])


@pytest.mark.parametrize(
    ("sample", "channels"),
    [((16, 16, 3), "first"), ((16, 16, 3), "last"), ((7, 7), "first"), ((7,), "last")],
)
def test_an_order_that_does_not_fit_or_changes_nothing_is_refused(refuses, sample, channels):
    with refuses(f"own: leave channels = '{channels}' out, for x_train has shape"):
        images(*sample)[1](channels=channels)
    with refuses("channels = 'middle'; it must be 'first' or 'last'"):
        images(*sample)[1](channels="middle")


BAD = [
    ({"x_train": [[0]]}, "toy: x_train is a list; it must be a NumPy array"),
    ({"x_train": np.ma.masked_array([[0]])}, "toy: x_train is a MaskedArray; it must be a NumPy"),
    ({"x_train": np.zeros((0, 3, 2), np.uint8)}, "x_train is empty: its shape is (0, 3, 2)"),
    ({"y_test": np.zeros(0, int)}, "y_test is empty: its shape is (0,)"),
    ({"x_train": np.zeros((4, 0), np.float32)}, "x_train is empty: its shape is (4, 0)"),
    (
        {"x_train": np.zeros((4, 3, 2), int)},
        "x_train has dtype int64 and shape (4, 3, 2); it must be one of",
    ),
    ({"x_train": np.zeros((4, 3), object)}, "x_train has dtype object"),
    ({"x_train": np.zeros(4)}, "x_train has dtype float64 and shape (4,); it must be"),
    ({"x_test": np.zeros((2, 1, 1, 1, 1))}, "and shape (2, 1, 1, 1, 1); it must"),
    (
        {"x_train": np.full((4, 2), np.nan)},
        "x_train has nan at position 0, 0; every value must be fi",
    ),
    ({"x_test": np.array([[1.0], [np.inf]])}, "x_test has inf at position 1, 0"),
    (
        {"x_test": np.zeros((2, 2, 2), np.uint8)},
        "x_test has samples of uint8 and shape (2, 2), but",
    ),
    (
        {"x_test": np.zeros((2, 3, 2), np.float32)},
        "x_test has samples of float32 and shape (3, 2), but",
    ),
    ({"y_train": np.array([0, 1, 2])}, "x_train has 4 samples, but y_train 3 labels"),
    ({"y_train": np.zeros((4, 1), int)}, "y_train has dtype int64 and shape (4, 1); labels of 3"),
    ({"y_train": np.array([0, 1, 3, 0])}, "y_train has label 3 at position 2; labels must be 0…2"),
    ({"y_test": np.array([0, -1])}, "y_test has label -1 at position 1; labels must be 0…2"),
    ({"y_test": np.array([0.0, 1.0])}, "y_test has dtype float64 and shape (2,); labels of 3"),
    ({"y_test": np.array([True, False])}, "y_test has dtype bool"),
    ({"classes": 0}, "labels of no classes must be float32 or float64"),
    ({"classes": 0, "y_train": np.array([0, 1, np.nan, 0])}, "y_train has nan at position 2"),
    ({"classes": -1}, "classes = -1; it must be a whole number ≥ 0"),
    ({"classes": 3.0}, "classes = 3.0; it must be"),
    (
        {"normalisation": Normalisation((0.5, 0.5), (1.0,))},
        "mean = (0.5, 0.5); it must be 1 finite",
    ),
    (
        {"normalisation": Normalisation((0.5,), (0.0,))},
        "std = (0.0,); it must be 1 finite numbers, std > 0",
    ),
    ({"normalisation": Normalisation((np.nan,), (1.0,))}, "it must be 1 finite numbers"),
    (
        {
            "normalisation": Normalisation((0.5,), (1.0,)),
            "x_train": np.zeros((4, 3, 2), np.float32),
            "x_test": np.zeros((2, 3, 2), np.float32),
        },
        "normalisation is of images of uint8",
    ),
    ({"x_train": np.full((4, 3, 2), 1e200)}, "1e+200 at position 0, 0, 0; every value must be"),
]


@pytest.mark.parametrize(("changes", "sentence"), BAD, ids=[sentence for _, sentence in BAD])
def test_bad_arrays_are_refused_in_a_sentence(refuses, changes, sentence):
    with refuses() as caught:
        make(**changes)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_sentence_names_the_file_if_there_is_one(refuses):
    with refuses(r"^toy \(there/toy.npz\): y_test has dtype int64 and shape"):
        make(y_test=np.zeros((2, 2), int), origin={"file": "there/toy.npz"})

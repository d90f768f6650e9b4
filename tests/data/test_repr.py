"""A data set prints as one line, however large its arrays are."""

import numpy as np

from fedbench.data.dataset import Dataset
from fedbench.data.sources.digits_and_points import Digits


def test_a_data_set_of_images_prints_its_name_and_sizes(tmp_path):
    assert repr(Digits().load(tmp_path)) == (
        "Dataset('digits': 1,442 training + 355 test images of "
        "(channels, height, width) = (1, 8, 8), 10 classes)"
    )


def test_validation_samples_texts_and_missing_classes_are_said():
    ids, labels = np.ones((2, 16), dtype=np.int64), np.array([0, 1])
    texts = Dataset(
        "t", ids, labels, ids, labels, 2, vocabulary=5, x_held_out=ids, y_held_out=labels
    )
    assert str(texts) == (
        "Dataset('t': 2 training + 2 validation + 2 test texts of 16 token ids, 2 classes)"
    )
    x, y = np.ones((3, 4), dtype=np.float32), np.ones(3, dtype=np.float32)
    assert repr(Dataset("r", x, y, x, y, 0)).endswith("test rows of 4 numbers, no classes)")

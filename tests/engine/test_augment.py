"""Crops and flips by hand, their frequencies, and training with them."""

import numpy as np
import pytest
import torch

from fedbench import RunSpec, run
from fedbench.data.dataset import Dataset
from fedbench.engine.preprocessing import augmented
from fedbench.engine.rounds import views
from fedbench.spec import Augment

# 1 2 3
# 4 5 6
# 7 8 9
IMAGE = torch.arange(1, 10, dtype=torch.uint8).view(1, 1, 3, 3)
SPEC = RunSpec(
    dataset="digits", model="mlp", partition={"dp": {"delta": 0.3}}, clients=6, participation=0.5,
    rounds=2, batch=32, augment={"crop": 2, "flip": 0.5},
)  # fmt: skip


def view(*values):
    return torch.tensor([values])


@pytest.mark.parametrize(
    ("how", "rows"),
    [
        ((1, 1, 0), [[1, 2, 3], [4, 5, 6], [7, 8, 9]]),  # the middle of the padded image
        ((0, 1, 0), [[0, 0, 0], [1, 2, 3], [4, 5, 6]]),  # a window one pixel higher
        ((1, 2, 0), [[2, 3, 0], [5, 6, 0], [8, 9, 0]]),  # one pixel to the right
        ((1, 1, 1), [[3, 2, 1], [6, 5, 4], [9, 8, 7]]),
        ((2, 0, 1), [[5, 4, 0], [8, 7, 0], [0, 0, 0]]),  # cropped, then mirrored
    ],
)
def test_a_view_is_a_window_of_the_padded_image(how, rows):
    assert augmented(IMAGE, view(*how), 1)[0, 0].tolist() == rows


def test_images_of_a_batch_are_seen_each_in_its_own_way_and_stay_uint8():
    x = torch.cat([IMAGE, IMAGE]).expand(2, 2, 3, 3)
    out = augmented(x, torch.tensor([[0, 0, 0], [0, 0, 1]]), 0)
    assert out.dtype == torch.uint8
    assert torch.equal(out[0], x[0])
    assert torch.equal(out[1], x[1].flip(-1))


def test_views_are_drawn_in_their_shares():
    [drawn] = views(Augment(crop=4, crop_share=0.5, flip=0.25), [torch.arange(20_000)], 0, 0, 0)
    offsets, flipped = drawn[:, :2], drawn[:, 2]
    assert offsets.min() == 0
    assert offsets.max() == 8
    still = (offsets == 4).all(1).double().mean()
    assert still == pytest.approx(0.5 + 0.5 / 81, abs=0.01)
    assert flipped.double().mean() == pytest.approx(0.25, abs=0.01)


def test_views_depend_on_seed_round_and_client():
    rows = [torch.arange(50)]
    first = views(Augment(crop=4), rows, 0, 0, 0)[0]
    assert torch.equal(first, views(Augment(crop=4), rows, 0, 0, 0)[0])
    for other in ((1, 0, 0), (0, 1, 0), (0, 0, 1)):
        assert not torch.equal(first, views(Augment(crop=4), rows, *other)[0])


def test_no_crop_and_no_flip_is_no_augmentation():
    plain = run(SPEC.changed(augment=None))
    none = run(SPEC.changed(augment={"crop": 0, "flip": 0.0}))
    assert torch.equal(plain.weights, none.weights)
    assert not torch.equal(plain.weights, run(SPEC).weights)


def test_features_cannot_be_augmented(refuses):
    x, y = np.zeros((8, 3), np.float32), np.arange(8) % 2
    flat = Dataset("flat", x, y, x, y, classes=2)
    with refuses("augment: data set 'flat' has samples of shape"):
        run(SPEC, data=flat)

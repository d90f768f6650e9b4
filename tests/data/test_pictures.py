"""Sources beyond the npz files: what they read, and what they keep."""

import os
import socket
import tracemalloc

import numpy as np
import pytest
import torch
from PIL import Image

from fedbench.base.errors import FedbenchError
from fedbench.data import image_sets
from fedbench.data.sources import public_images
from fedbench.data.sources.folders import Folder
from fedbench.data.sources.public_images import ImageNet100, TinyImageNet
from fedbench.engine import preprocessing
from tests.data import network
from tests.data.pictures import hundred, jpeg, one_image_a_class, packed, tiny, unpacked


@pytest.mark.parametrize("pack", [False, True], ids=["folder", "zip"])
def test_tiny_imagenet_is_read_once_from_folder_or_archive(tmp_path, monkeypatch, pack):
    archive = tmp_path / "tiny-imagenet-200.zip"
    if pack:
        packed(tiny(), archive)
    one_image_a_class(monkeypatch, archive if pack else None)
    if not pack:
        unpacked(tiny(), tmp_path / "tiny-imagenet-200")
    data = TinyImageNet().load(tmp_path)
    assert data.x_train.shape == (200, 64, 64, 3)
    assert data.y_train.tolist() == list(range(200))  # by WordNet id, whatever wnids.txt's order
    assert data.y_test[:3].tolist() == [7, 0, 199]  # in the order of the annotations
    assert abs(int(data.x_train[50, 0, 0, 0]) - 50) < 4  # red is the class, but for JPEG's loss
    assert np.ptp(data.x_train[0], axis=-1).max() == 0  # a grey image has three equal channels
    before = (tmp_path / "tinyimagenet.npz").stat().st_mtime_ns
    again = TinyImageNet().load(tmp_path)
    assert np.array_equal(again.x_train, data.x_train)
    assert (tmp_path / "tinyimagenet.npz").stat().st_mtime_ns == before
    assert len(data.origin["sha256"]) == 64


def test_imagenet100_is_scaled_cropped_and_mapped_from_disk(tmp_path):
    unpacked(hundred(), tmp_path / "imagenet100")
    data = ImageNet100(size=8).load(tmp_path)
    assert isinstance(data.x_train, np.memmap)
    cpu = torch.device("cpu")
    x, _ = preprocessing.samples(data.x_train, data.y_train, cpu, torch.float32)
    assert x.is_contiguous()
    assert x.shape == (100, 3, 8, 8)
    assert np.shares_memory(x.numpy(), data.x_train)  # trained on as it lies on disk
    assert data.x_train.shape == (100, 8, 8, 3)
    assert data.y_train.tolist() == list(range(100))
    assert data.y_test.tolist() == list(range(100))
    assert abs(int(data.x_test[99, 4, 4, 0]) - 99) < 4
    unpacked({"train/c00/a.JPEG": b"changed later"}, tmp_path / "imagenet100")
    assert np.array_equal(ImageNet100(size=8).load(tmp_path).x_train, data.x_train)


def test_imagenet100_is_found_as_it_is_commonly_split(tmp_path):
    files = {}
    for name, content in hundred().items():
        part, rest = name.split("/", 1)
        top = "val.X" if part == "val" else f"train.X{1 + int(rest[1:3]) // 25}"
        files[f"{top}/{rest}"] = content
    unpacked(files, tmp_path / "imagenet100")
    assert ImageNet100(size=8).load(tmp_path).y_train.tolist() == list(range(100))


def test_the_shorter_side_is_scaled_and_the_middle_cropped(tmp_path):
    wide = np.zeros((20, 60, 3), np.uint8)
    wide[:, 20:40] = 255  # the middle square is white
    unpacked(hundred(), tmp_path / "imagenet100")
    Image.fromarray(wide).save(tmp_path / "imagenet100/train/c00/a.JPEG", quality=95)
    data = ImageNet100(size=10).load(tmp_path)
    assert data.x_train[0].shape == (10, 10, 3)
    assert data.x_train[0, :, 1:9].min() > 240


def test_what_a_killed_decoding_left_is_written_anew(tmp_path):
    gone = os.fork() or os._exit(0)
    os.waitpid(gone, 0)
    half = f"../.imagenet100-8.npy.{gone}@{socket.gethostname()}.x.part"
    unpacked(hundred() | {half: b"half"}, tmp_path / "imagenet100")
    data = ImageNet100(size=8).load(tmp_path)
    assert len(data.x_train) == 100
    kept = {"imagenet100", "imagenet100-8.npy", "imagenet100-8.json"}
    assert {file.name for file in tmp_path.iterdir()} == kept
    (tmp_path / "imagenet100-8.json").unlink()  # killed between the two files
    assert np.array_equal(ImageNet100(size=8).load(tmp_path).x_test, data.x_test)


def test_a_full_disk_is_said_and_leaves_nothing(refuses, tmp_path, monkeypatch):
    unpacked(hundred(), tmp_path / "imagenet100")

    def full(files, size):
        yield np.zeros((size, size, 3), dtype=np.uint8)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(public_images, "decoded", full)
    with refuses(r"cannot be written: No space left on device"):
        ImageNet100(size=8).load(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["imagenet100"]


def test_decoding_holds_few_images_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(image_sets, "_CHUNK", 16)
    unpacked(hundred(), tmp_path / "imagenet100")
    tracemalloc.start()
    try:
        data = ImageNet100(size=96).load(tmp_path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < (data.x_train.nbytes + data.x_test.nbytes) / 3  # 200 images, 16 at a time


def test_what_is_not_there_says_what_to_put_where(refuses, tmp_path, monkeypatch):
    network.cut_off(monkeypatch)
    with pytest.raises(
        FedbenchError,
        match=r"tiny-imagenet-200.zip is not there .* put it there, or the folder",
    ):
        TinyImageNet().load(tmp_path)
    with refuses(r"has 0 classes to train on, .*; it must hold 100 as train/<class>"):
        ImageNet100().load(tmp_path)
    assert not list(tmp_path.iterdir())


def test_pictures_of_more_than_8_bits_are_refused(refuses, tmp_path):
    (tmp_path / "pets/cat").mkdir(parents=True)
    for name in ("a", "b"):
        Image.fromarray(np.full((4, 4), 4000, np.uint16)).save(tmp_path / f"pets/cat/{name}.png")
    with refuses(r"a\.png: .*its pixels have more than 8 bits"):
        image_sets.read_image(tmp_path / "pets/cat/a.png")


def test_folders_are_read_upright_and_without_what_is_hidden(tmp_path):
    files = {f"pets/{kind}/{k}.png": jpeg(9) for kind in "ab" for k in range(5)}
    unpacked(files | {"pets/.ipynb_checkpoints/x.png": jpeg(9)}, tmp_path)
    unpacked({"pets/a/._0.png": b"what macOS stores beside a file"}, tmp_path)
    lying = np.zeros((8, 8, 3), np.uint8)
    lying[:, 4:] = 255  # what is right becomes the lower half
    exif = Image.Exif()
    exif[274] = 6  # turn by 90 degrees clockwise
    Image.fromarray(lying).save(tmp_path / "pets/a/0.png", exif=exif)
    data = Folder(path="pets", side=8).load(tmp_path)
    assert (data.classes, len(data.x_train) + len(data.x_test)) == (2, 10)
    turned = image_sets.read_image(tmp_path / "pets/a/0.png", 8, upright=True)
    assert (turned[4:].min(), turned[:4].max()) == (255, 0)
    assert any(np.array_equal(turned, x) for x in (*data.x_train, *data.x_test))
    # public sets are read as torchvision reads them
    assert np.array_equal(image_sets.read_image(tmp_path / "pets/a/0.png"), lying)


def test_a_split_that_is_given_takes_no_seed(refuses, tmp_path):
    pets = {f"{half}/{kind}/{half}.jpg": jpeg(9) for half in ("train", "test") for kind in "ab"}
    unpacked(pets, tmp_path / "pets")
    assert Folder("pets", side=8).load(tmp_path).x_test.shape == (2, 8, 8, 3)
    with refuses("test and seed have no effect, as there are train/ and test/"):
        Folder("pets", side=8, seed=1).load(tmp_path)

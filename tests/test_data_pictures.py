"""Sources beyond the npz files: what they read, and what they keep."""

import numpy as np
import pytest

from fedbench.data.sources.imagenet100 import ImageNet100
from fedbench.data.sources.tinyimagenet import TinyImageNet
from fedbench.errors import FedbenchError
from tests.pictures import hundred, packed, tiny, unpacked


@pytest.mark.parametrize("pack", [False, True], ids=["folder", "zip"])
def test_tiny_imagenet_is_read_once_from_folder_or_archive(tmp_path, pack):
    if pack:
        packed(tiny(), tmp_path / "tiny-imagenet-200.zip")
    else:
        unpacked(tiny(), tmp_path / "tiny-imagenet-200")
    data = TinyImageNet().load(tmp_path)
    assert data.x_train.shape == (200, 64, 64, 3)
    assert data.y_train.tolist() == list(range(200))  # by WordNet id, whatever wnids.txt's order
    assert data.y_test.tolist() == [7, 0, 199]  # in the order of the annotations
    assert abs(int(data.x_train[50, 0, 0, 0]) - 50) < 4  # red is the class, but for JPEG's loss
    assert np.ptp(data.x_train[0], axis=-1).max() == 0  # a grey image has three equal channels
    before = (tmp_path / "tinyimagenet.npz").stat().st_mtime_ns
    again = TinyImageNet().load(tmp_path)
    assert np.array_equal(again.x_train, data.x_train)
    assert (tmp_path / "tinyimagenet.npz").stat().st_mtime_ns == before
    assert len(data.origin["sha256"]) == 64


def test_imagenet100_is_scaled_cropped_and_mapped_from_disk(tmp_path):
    unpacked(hundred(), tmp_path / "imagenet100")
    data = ImageNet100(side=8).load(tmp_path)
    assert isinstance(data.x_train, np.memmap)
    assert data.x_train.shape == (100, 8, 8, 3)
    assert data.y_train.tolist() == list(range(100))
    assert data.y_test.tolist() == [3, 99]
    assert abs(int(data.x_test[1, 4, 4, 0]) - 99) < 4
    unpacked({"train/c00/a.JPEG": b"changed later"}, tmp_path / "imagenet100")
    assert np.array_equal(ImageNet100(side=8).load(tmp_path).x_train, data.x_train)


def test_imagenet100_is_found_as_it_is_commonly_split(tmp_path):
    files = {}
    for name, content in hundred().items():
        part, rest = name.split("/", 1)
        top = "val.X" if part == "val" else f"train.X{1 + int(rest[1:3]) // 25}"
        files[f"{top}/{rest}"] = content
    unpacked(files, tmp_path / "imagenet100")
    assert ImageNet100(side=8).load(tmp_path).y_train.tolist() == list(range(100))


def test_a_killed_decoding_starts_again(tmp_path):
    unpacked(hundred(), tmp_path / "imagenet100")
    whole = ImageNet100(side=8).load(tmp_path)
    kept = tmp_path / "imagenet100-8"
    (kept / "done").unlink()
    (kept / "x_train.npy").unlink()
    np.save(kept / "x_train.npy", np.zeros(3))
    assert np.array_equal(ImageNet100(side=8).load(tmp_path).x_train, whole.x_train)


def test_what_is_not_there_says_what_to_put_where(tmp_path, monkeypatch):
    import torchvision.datasets.utils as tools

    def offline(*_):
        raise OSError("no network")

    monkeypatch.setattr(tools, "download_url", offline)
    with pytest.raises(
        FedbenchError, match=r"tiny-imagenet-200.zip is there and .* put one of them"
    ):
        TinyImageNet().load(tmp_path)
    with pytest.raises(FedbenchError, match=r"holds no image; put the data there as train/<class>"):
        ImageNet100().load(tmp_path)
    assert not list(tmp_path.iterdir())

"""Published files come over https and are known by their sha256 before they are read."""

import hashlib

import pytest

from fedbench.data import image_sets
from fedbench.data.source import obtain
from fedbench.data.sources import agnews_and_sst5, public_images
from tests.data import network

REMOTES = [
    *agnews_and_sst5._NEWS_REMOTES.values(),
    *(
        remote
        for source in (public_images.MNIST, public_images.CIFAR10, public_images.CIFAR100)
        for remote in source.REMOTES.values()
    ),
    agnews_and_sst5._REVIEWS_REMOTE,
    public_images._REMOTE,
]


@pytest.fixture
def served(monkeypatch):
    return network.serve(monkeypatch, b"the archive")


def test_every_published_file_is_fetched_over_https_and_known_by_sha256():
    assert len(REMOTES) == 2 + 4 + 4
    for url, sha256 in REMOTES:
        assert url.startswith("https://")
        assert len(bytes.fromhex(sha256)) == 32


def test_what_arrives_is_kept_if_it_is_the_published_file(tmp_path, served):
    known = hashlib.sha256(b"the archive").hexdigest()
    obtain(("https://there/a.zip", known), tmp_path / "new/a.zip", "put it there")
    assert (tmp_path / "new/a.zip").read_bytes() == b"the archive"
    obtain(("https://there/a.zip", known), tmp_path / "new/a.zip", "put it there")
    assert served == ["https://there/a.zip"]  # once


def test_what_arrives_is_thrown_away_if_it_is_another(refuses, tmp_path, served):
    with refuses(r"a.zip has a sha256 that is not 00; put it there"):
        obtain(("https://there/a.zip", "00"), tmp_path / "a.zip", "put it there")
    assert not list(tmp_path.iterdir())


def test_torchvision_is_not_asked_for_what_another_server_sends(
    refuses, tmp_path, served, monkeypatch
):
    import torchvision

    def strange(*args, **kwargs):
        raise AssertionError("torchvision looked at it")

    monkeypatch.setattr(torchvision.datasets, "CIFAR10", strange)
    assert image_sets.obtain is obtain
    with refuses(r"/cifar-10-python\.tar\.gz has a sha256 that"):
        public_images.CIFAR10().load(tmp_path)

"""ViT-Small's published weights."""

import pytest
import torch
from safetensors.torch import save_file

from fedbench.core.flat_network import Net
from fedbench.data.dataset import Inputs
from tests.models.networks import CIFAR100, DIGITS, images, on_paper, small

COLOUR = Inputs((3, 8, 8), 5)


@pytest.fixture
def published(tmp_path, monkeypatch):
    """A file like the published one, at a small size, in the data folder."""
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path))
    backbone = small("vitsmall", COLOUR).body[1]
    found = {name: value + 1 for name, value in backbone.state_dict().items()}
    found |= {"head.weight": torch.zeros(1000, 32), "head.bias": torch.zeros(1000)}
    file = tmp_path / "vit_small_patch16_224" / "model.safetensors"
    file.parent.mkdir()
    save_file(found, file)
    return found


def test_the_backbone_is_read_and_the_rest_is_drawn(published):
    model = small("vitsmall", COLOUR, weights="pretrained")
    for name, value in model.body[1].state_dict().items():
        assert torch.equal(value, published[name])
    fresh = small("vitsmall", COLOUR)
    assert torch.equal(model.head.weight, fresh.head.weight)
    assert model(images(COLOUR)).shape == (6, 5)


def test_grey_images_and_other_sizes_are_refused(refuses, published):
    with refuses(r"patch_embed.proj.weight is \(32, 3, 4, 4\) in the file"):
        small("vitsmall", DIGITS, weights="pretrained")
    with refuses(r"pos_embed is \(1, 17, 32\) in the file"):
        small("vitsmall", COLOUR, weights="pretrained", side=8)
    with refuses(r"blocks.2.* is missing in the file"):
        small("vitsmall", COLOUR, weights="pretrained", layers=3)


def test_a_missing_file_is_named(refuses, tmp_path, monkeypatch):
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path))
    file = tmp_path / "vit_small_patch16_224" / "model.safetensors"
    with refuses() as caught:
        on_paper("vitsmall", CIFAR100)
    assert str(caught.value).startswith(f"{file} is not there; put the published weights there")


def test_random_weights_follow_the_width():
    weight = small("vitsmall", COLOUR).body[1].blocks[0].attn.qkv.weight.detach()
    assert weight.shape == (96, 32)
    assert weight.std() == pytest.approx((2 / (32 + 96)) ** 0.5, rel=0.05)


def test_bottleneck_and_classifier_are_linear_and_start_as_released():
    model = small("vitsmall", COLOUR)
    layers = [model.body[-1], model.head]  # 32 → 16 → 5
    assert [(m.in_features, m.out_features) for m in layers] == [(32, 16), (16, 5)]
    wide = small("vitsmall", COLOUR._replace(classes=4000), bottleneck=1000)
    for layer, variance in ((wide.body[-1], 2 / 1032), (wide.head, 2 / 5000)):
        assert layer.weight.detach().std() == pytest.approx(variance**0.5, rel=0.02)
        assert not layer.bias.any()
    x = images(COLOUR)
    assert (model.body(x) < 0).any()  # no ReLU
    assert torch.equal(model(x), model.head(model.body(x)))


def test_a_fresh_model_of_another_seed_starts_as_released_too():
    fresh = Net(small("vitsmall", COLOUR)).fresh(torch.Generator().manual_seed(3))
    assert not fresh.w[-5:].any()  # the classifier's bias

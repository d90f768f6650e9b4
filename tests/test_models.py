"""Parameter counts, shapes and layers."""

import pytest
import torch
from torch import nn

from fedbench import registry
from fedbench.data.dataset import Inputs
from fedbench.errors import FedbenchError
from fedbench.models.layers import MaxPool2

SHAPES = {"mnist": (1, 28, 28), "cifar": (3, 32, 32), "digits": (1, 8, 8)}


def build(name, shape, classes, **params):
    return registry.build("model", name, params).build(Inputs(shape, classes))


@pytest.mark.parametrize(
    ("name", "params", "shape", "classes", "count"),
    [
        ("mlp", {}, "mnist", 10, 784 * 128 + 128 + 128 * 10 + 10),  # 101,770
        ("lenet5", {}, "cifar", 10, 62_006),
        # stem 3·16·9; stages 6·16·16·9, 16·32·9 + 5·32·32·9, 32·64·9 + 5·64·64·9; two numbers a
        # normed channel: 2 · (16 + 6·16 + 6·32 + 6·64); classifier 64·100 + 100
        ("rn20", {"norm": "bn"}, "cifar", 100, 275_572),
    ],
)
def test_parameter_counts_are_the_papers(name, params, shape, classes, count):
    model = build(name, SHAPES[shape], classes, **params)
    assert sum(p.numel() for p in model.parameters()) == count


@pytest.mark.parametrize("name", sorted(registry.entries("model").keys() - {"distilbert"}))  # text
def test_every_model_gives_logits_from_body_and_head(name):
    params = {"padding": 2} if name == "lenet5" else {}
    for shape in SHAPES.values():
        model = build(name, shape, 7, **params).eval()
        x = torch.rand(2, *shape)
        assert model(x).shape == (2, 7)
        assert torch.equal(model(x), model.head(model.body(x)))


def test_lenet_refuses_images_that_vanish():
    with pytest.raises(FedbenchError, match="images of side 8 vanish; padding = 0 must be larger"):
        build("lenet5", (1, 8, 8), 10)


@pytest.mark.parametrize("side", [2, 3, 8, 9])
def test_pooling_by_slices_has_the_bits_of_max_pooling(side):
    x = torch.randn(2, 3, side, side)
    pool = MaxPool2()
    expected = nn.MaxPool2d(2)(x)
    assert torch.equal(pool.eval()(x), expected)
    assert torch.equal(pool.train()(x), expected)


def test_option_a_shortcuts_pad_channels_with_zeros():
    model = build("rn20", (1, 8, 8), 10)
    block = model.body[6]  # the first of the second stage: 16 → 32 channels, stride 2
    for p in block.parameters():
        nn.init.zeros_(p)
    x = torch.rand(1, 16, 8, 8)
    out = block(x)
    assert torch.equal(out[:, 8:24], x[:, :, ::2, ::2])
    assert not out[:, :8].any()
    assert not out[:, 24:].any()

"""What the models of images are made of: counts, layers, norms, and what they refuse."""

import pytest
import timm
import torch
import torchvision
from torch import nn

from fedbench.base import registry
from fedbench.core.flat_network import Net
from fedbench.data.dataset import Inputs
from fedbench.models.architecture import with_projection
from fedbench.models.layers import global_mean
from tests.models.networks import (
    CIFAR10,
    CIFAR100,
    DIGITS,
    IMAGENET100,
    MNIST,
    PAIRS,
    SMALL,
    TINY,
    build,
    images,
    on_paper,
    small,
)


def size(model):
    return sum(p.numel() for p in model.parameters())


# convolutions 3·64·9 + 64, 64·128·9 + 128, 128·256·9 + 256, 256·512·9 + 512
A_CONVOLUTIONS = 1_792 + 73_856 + 295_168 + 1_180_160
# torchvision's 11,689,512 and 25,557,032 with 1000 classes and a 7×7 stem of 9,408 weights
RN18 = 11_689_512 - 513 * 1000
RN50 = 25_557_032 - 2049 * 1000
STEM = 3 * 64 * 9 - 9_408


@pytest.mark.parametrize(
    ("name", "params", "inputs", "features", "count"),
    [
        ("mlp", {}, Inputs((1, 28, 28), 10), 128, 784 * 128 + 128 + 128 * 10 + 10),  # 101,770
        # 2·32 + 32, 32·32 + 32, 32·4 + 4
        ("mlp", {"hidden": 32, "depth": 2}, Inputs((2,), 4), 32, 96 + 1_056 + 132),
        ("lenet5", {}, CIFAR10, 84, 62_006),
        # 25·32 + 32, 32·25·64 + 64, 3136·512 + 512, 512·10 + 10: as McMahan et al. print
        ("fedavgcnn", {}, MNIST, 512, 832 + 51_264 + 1_606_144 + 5_130),
        # 2048·128 + 128, 128·256 + 256, 256·512 + 512, 512·1024 + 1024, 1024·10 + 10
        ("acnn", {}, CIFAR10, 1024, A_CONVOLUTIONS + 262_272 + 33_024 + 131_584 + 525_312 + 10_250),
        ("acnn", {"top": "average"}, CIFAR10, 512, A_CONVOLUTIONS + 513 * 10),
        ("scnn", {}, CIFAR10, 192, 797_962),
        ("scnn", {}, CIFAR100, 192, 815_332),
        ("scnntiny", {}, TINY, 384, 2_447_688),
        # stem 3·16·9; stages 2·16·16·9, (16 + 32)·32·9 + 16·32, (32 + 64)·64·9 + 32·64; two numbers
        # a normed channel, 16 + 2·16 + 3·32 + 3·64 of them; 64·10 + 10
        ("rn8", {}, CIFAR10, 64, 432 + 4_608 + 13_824 + 512 + 55_296 + 2_048 + 2 * 336 + 650),
        ("rn18", {}, CIFAR100, 512, RN18 + STEM + 513 * 100),  # 11,220,132
        ("rn18", {"stem": "imagenet"}, CIFAR100, 512, RN18 + 513 * 100),
        ("rn18", {"stem": "imagenet"}, TINY, 512, RN18 + 513 * 200),
        # stem 3·16·9; stages 6·16·16·9, 16·32·9 + 5·32·32·9, 32·64·9 + 5·64·64·9; two numbers a
        # normed channel: 2 · (16 + 6·16 + 6·32 + 6·64); classifier 64·100 + 100
        ("rn20", {}, CIFAR100, 64, 275_572),
        ("rn50", {}, TINY, 2048, RN50 + STEM + 2049 * 200),  # 23,910,152
        # timm's 21,198,568 with 1000 classes
        ("tinyvit", {}, IMAGENET100, 576, 21_198_568 - 577 * 900),  # 20,679,268
        # timm's 22,050,664 with 1000 classes; 384·256 + 256; 256·100 + 100
        ("vitsmall", {"weights": "random"}, CIFAR100, 256, 22_050_664 - 385_000 + 98_560 + 25_700),
    ],
)  # fmt: skip
def test_parameter_counts_are_the_papers(name, params, inputs, features, count):
    model = on_paper(name, inputs, **params)
    assert size(model) == count
    assert Net(model).features == features
    if "norm" in registry.find("model", name).fields:  # another norm has as many weights
        assert size(on_paper(name, inputs, **params | {"norm": "bn"})) == count


def shapes(model):
    return [tuple(p.shape) for p in model.parameters()]


@pytest.mark.parametrize(
    ("ours", "inputs", "params", "theirs"),
    [
        ("rn18", CIFAR100, {"stem": "imagenet"}, torchvision.models.resnet18),
        ("rn50", TINY, {}, torchvision.models.resnet50),
    ],
)
def test_torchvisions_layers_in_torchvisions_order(ours, inputs, params, theirs):
    found = shapes(on_paper(ours, inputs, **params))
    with torch.device("meta"):
        expected = shapes(theirs(num_classes=inputs.classes))
    assert found[1:] == expected[1:]
    assert found[0] == (expected[0] if params else (64, 3, 3, 3))


def test_resnet18_computes_what_torchvisions_does():
    theirs = torchvision.models.resnet18(norm_layer=lambda n: nn.GroupNorm(32, n), num_classes=7)
    ours = build("rn18", Inputs((3, 32, 32), 7), stem="imagenet")
    weights = zip(ours.parameters(), theirs.parameters(), strict=True)
    with torch.no_grad():
        for mine, other in weights:
            mine.copy_(other)
    x = images(CIFAR10, 2)
    torch.testing.assert_close(ours(x), theirs(x))


def test_resnets_begin_as_torchvisions_do():
    weight = build("rn18", CIFAR100).body[1].weight.detach()
    assert weight.std() == pytest.approx((2 / (64 * 9)) ** 0.5, rel=0.05)  # He et al., fan out


@pytest.mark.parametrize(
    ("name", "inputs", "classifier", "params"),
    [
        ("tiny_vit_21m_224", IMAGENET100, "head.fc", {"name": "tinyvit", "norm": "bn"}),
        ("vit_small_patch16_224", IMAGENET100, "head", {"name": "vitsmall", "weights": "random"}),
    ],
)
def test_timms_backbones_have_timms_names(name, inputs, classifier, params):
    body = on_paper(inputs=inputs, **params).body
    with torch.device("meta"):
        theirs = timm.create_model(name)
    expected = {k: v.shape for k, v in theirs.state_dict().items() if not k.startswith(classifier)}
    assert {k: v.shape for k, v in body[1].state_dict().items()} == expected
    windows = [getattr(m, "window_size", None) for m in theirs.modules()]
    assert windows == [getattr(m, "window_size", None) for m in body[1].modules()] or name[0] == "v"


# --- layers -------------------------------------------------------------------------------------


def test_the_mean_over_pixels_has_the_bits_of_average_pooling():
    x = torch.randn(2, 3, 5, 4)
    expected = nn.AdaptiveAvgPool2d(1)(x).flatten(1)
    assert torch.equal(global_mean()(x), expected)


def test_option_a_shortcuts_pad_channels_with_zeros():
    model = build("rn20", DIGITS)
    block = model.body[6]  # the first of the second stage: 16 → 32 channels, stride 2
    for p in block.parameters():
        nn.init.zeros_(p)
    x = torch.rand(1, 16, 8, 8)
    out = block(x)
    assert torch.equal(out[:, 8:24], x[:, :, ::2, ::2])
    assert not out[:, :8].any()
    assert not out[:, 24:].any()


def test_resizing_is_bilinear():
    # halfway between two pixels' centres the values mix as 3 : 1
    model = small("acnn", Inputs((1, 2, 2), 3))
    x = torch.tensor([[[[0.0, 4.0], [0.0, 4.0]]]])
    assert model.body[0](x).shape == (1, 1, 16, 16)
    assert torch.equal(
        nn.Upsample((4, 4), mode="bilinear")(x)[0, 0, 0], torch.tensor([0.0, 1, 3, 4])
    )
    assert isinstance(small("acnn", PAIRS).body[0], nn.Identity)


# --- norms --------------------------------------------------------------------------------------


def groups(model):
    """(groups, channels) of the group norms, each pair once, in order."""
    found = [(m.num_groups, m.num_channels) for m in model.modules() if isinstance(m, nn.GroupNorm)]
    return list(dict.fromkeys(found))


# a quarter of 64, 128, 256, 512 channels, four times as many after each block
BOTTLENECKS = [(1, 16), (4, 64), (2, 32), (8, 128), (16, 256), (32, 512)]


@pytest.mark.parametrize(
    ("name", "inputs", "params", "expected"),
    [
        ("rn8", CIFAR10, {}, [(1, 16), (2, 32), (4, 64)]),
        ("rn8", CIFAR10, {"width": 0.5}, [(1, 8), (1, 16), (2, 32)]),
        ("rn20", CIFAR100, {}, [(2, 16), (2, 32), (2, 64)]),
        ("rn18", CIFAR100, {}, [(32, 64), (32, 128), (32, 256), (32, 512)]),
        ("rn18", CIFAR100, {"per_group": 32}, [(2, 64), (4, 128), (8, 256), (16, 512)]),
        ("scnntiny", TINY, {}, [(4, 64)]),
        ("rn50", TINY, {"depth": 0.1, "width": 0.25}, BOTTLENECKS),
    ],
)  # fmt: skip
def test_groups_are_the_papers(name, inputs, params, expected):
    assert groups(on_paper(name, inputs, **params)) == expected


def test_every_convolution_of_a_resnet_is_normed():
    for norm, kind in (("gn", nn.GroupNorm), ("bn", nn.BatchNorm2d)):
        for name, convolutions in (("rn8", 9), ("rn18", 20), ("rn50", 53)):
            layers = list(on_paper(name, CIFAR100, norm=norm).modules())
            assert sum(isinstance(m, nn.Conv2d) for m in layers) == convolutions
            assert sum(isinstance(m, kind) for m in layers) == convolutions


def test_tinyvit_has_layer_norm_over_channels_in_place_of_batch_norm():
    model = small("tinyvit")
    assert not any(isinstance(m, nn.BatchNorm2d) for m in model.modules())
    normed = model.body[1].patch_embed.conv1.bn
    x = images(Inputs((6, 3, 3), 1))
    mean, var = x.mean(1, keepdim=True), x.var(1, unbiased=False, keepdim=True)
    torch.testing.assert_close(normed(x), (x - mean) / (var + 1e-5).sqrt())
    # timm's first weights, 0 at the end of a residual block
    assert not model.body[1].stages[0].blocks[0].conv3.bn.weight.any()


# --- heads --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "params"), [("rn18", {}), ("acnn", {"top": "average"})])
def test_the_head_of_moon(name, params):
    # 512 → 512 → ReLU → 256 → C
    model = with_projection(build(name, CIFAR100, **params), 256, CIFAR100)
    layers = [*model.body[1], model.head]
    assert [type(m) for m in layers] == [nn.Linear, nn.ReLU, nn.Linear, nn.Linear]
    widths = [(m.in_features, m.out_features) for m in layers if isinstance(m, nn.Linear)]
    assert widths == [(512, 512), (512, 256), (256, 100)]


def test_the_head_of_moon_on_text_begins_with_the_pre_classifier():
    # [CLS] 32 → pre_classifier 32 → ReLU, dropout → 6 → 4: one layer of 32·6 + 6 and a classifier
    # of 6·4 + 4 in place of one of 32·4 + 4
    text, sizes = Inputs((16,), 4, 50), {"layers": 1, "heads": 2, "dim": 32, "hidden": 64}
    plain = build("distilbert", text, **sizes, weights="random")
    ids = torch.full((1, 16), 3)
    model = with_projection(plain, 6, text)
    assert [(m.in_features, m.out_features) for m in (*model.body[1], model.head)] == [
        (32, 6), (6, 4),
    ]  # fmt: skip
    assert model(ids).shape == (1, 4)
    before, after = (sum(p.numel() for p in m.parameters()) for m in (plain, model))
    assert after - before == (32 * 6 + 6) + (6 * 4 + 4) - (32 * 4 + 4)


@pytest.mark.parametrize("name", SMALL)
def test_a_projection_is_put_behind_every_body(name):
    net = Net(with_projection(small(name), 6, DIGITS))
    logits, features = net.eval(net.start(), images(DIGITS))
    assert (logits.shape, features.shape, net.features) == ((6, 10), (6, 6), 6)


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "inputs", "params", "sentence"),
    [
        ("lenet5", DIGITS, {}, "LeNet5: images of side 8 .* padding = 0 must be larger"),
        ("acnn", DIGITS, {}, "ACNN: images of side 8 .* side = null must be at least 16"),
        ("acnn", DIGITS, {"side": 15}, "images of side 15 .* side = 15 must be at least 16"),
        ("scnn", DIGITS, {}, "SCNN: images of side 8 .* side = null must be at least 16"),
        ("scnntiny", Inputs((1, 9, 7), 2), {}, "SCNNTiny: images of side 7 are too small"),
        ("rn8", Inputs((4,), 2), {}, r"RN8: samples of shape \(4,\) are not images; use an 'mlp'"),
        ("tinyvit", Inputs((128,), 2, 50), {}, "TinyViT: samples of shape"),
        ("rn18", DIGITS, {"width": 0.125}, "groups = 32 cannot divide 8 channels equally"),
        ("rn18", DIGITS, {"per_group": 48}, "per_group = 48 cannot divide 64 channels equally"),
        ("rn20", DIGITS, {"groups": 3}, "groups = 3 cannot divide 16 channels equally"),
        ("rn50", DIGITS, {"norm": "ln"}, "norm = 'ln' is not allowed; it must be one of gn, bn"),
        ("vitsmall", DIGITS, {"patch": 15}, "side = 224 must be a multiple of patch = 15"),
        ("vitsmall", DIGITS, {"heads": 5}, "dim = 384 must be a multiple of heads = 5"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_a_sentence(refuses, name, inputs, params, sentence):
    with refuses(sentence) as caught:
        on_paper(name, inputs, **params)
    assert "\n" not in str(caught.value)


def test_the_first_weights_of_acnn_may_be_those_of_he():
    torch.manual_seed(0)
    model = build("acnn", CIFAR10, init="he")
    layers = [m for m in model.modules() if isinstance(m, nn.Conv2d | nn.Linear)]
    # 2 over 128·9 weights that go out of a unit of the second convolution, over 2048 that come into
    # the first linear layer: deviations of 0.0417 and 0.03125
    assert layers[1].weight.std().item() == pytest.approx((2 / (128 * 9)) ** 0.5, rel=0.02)
    assert layers[4].weight.std().item() == pytest.approx(0.03125, rel=0.02)
    assert all((layer.bias == 0).all() for layer in layers)
    # images of variance 1 keep about their size through nine layers; PyTorch's weights lose it
    seen = torch.randn(64, 3, 32, 32)
    spread = {
        init: build("acnn", CIFAR10, init=init)(seen).std(0).mean() for init in ("he", "pytorch")
    }
    assert spread["he"] > 20 * spread["pytorch"]


@pytest.mark.parametrize(
    ("name", "least"), [("fedavgcnn", 4), ("acnn", 16), ("scnn", 16), ("scnntiny", 8)]
)
def test_the_smallest_images_that_a_model_takes(name, least):
    inputs = Inputs((1, least, least + 3), 4)
    params = SMALL[name] | ({"side": None} if "side" in SMALL[name] else {})
    assert build(name, inputs, **params)(images(inputs, 2)).shape == (2, 4)

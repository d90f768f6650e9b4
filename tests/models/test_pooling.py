"""Pooling equals PyTorch's, bit for bit, in outputs and gradients, alone and with a convolution."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.autograd import grad

from fedbench.models import fast_pooling
from fedbench.models.fast_pooling import MaxPool2, Pooled, usual_pooling

sides = st.integers(8, 33)


@pytest.fixture(autouse=True, scope="module")
def any_number_is_many():
    """So that small examples take the ways of large ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast_pooling, "_MANY", 1)
        patch.setattr(fast_pooling, "_MANY_ALONE", 1)
        yield


def outputs_and_gradients(module, x):
    """What the module gives for x, and gradients of a weighted sum of it."""
    x = x.clone().requires_grad_()
    out = module(x)
    weights = torch.linspace(-1, 1, out.numel()).view_as(out)
    return [out, *grad((out * weights).sum(), [x, *module.parameters()])]


def assert_same_bits(module, plain, x):
    for found, expected in zip(
        outputs_and_gradients(module.train(), x),
        outputs_and_gradients(plain.train(), x),
        strict=True,
    ):
        assert torch.equal(found, expected)
    with torch.no_grad():
        assert torch.equal(module.eval()(x), plain.eval()(x))


EQUAL, FIRST = [[1.0, 2, 5, 5], [2, 0, 5, 5]], [[0, 1, 1, 0], [0, 0, 0, 0]]


def test_the_first_of_equal_values_gets_the_gradient():
    x = torch.tensor([[EQUAL]], requires_grad=True)
    out = MaxPool2().train()(x)
    assert out.tolist() == [[[[2, 5]]]]
    assert grad(out.sum(), x)[0].tolist() == [[FIRST]]


def test_usual_pooling_gives_it_to_the_first_in_evaluation_mode_too():
    x = torch.tensor([[EQUAL]], requires_grad=True)
    nested = nn.Sequential(nn.Identity(), nn.Sequential(MaxPool2())).eval()
    assert grad(nested(x).sum(), x)[0].tolist() != [[FIRST]]  # a half each, a quarter each
    out = usual_pooling(nested)(x)
    assert out.tolist() == [[[[2, 5]]]]
    assert grad(out.sum(), x)[0].tolist() == [[FIRST]]


@settings(deadline=None)
@given(height=st.integers(2, 9), width=st.integers(2, 9), seed=st.integers(0, 99))
def test_pooling_has_the_bits_of_pytorchs_where_values_are_equal_too(height, width, seed):
    x = torch.randint(3, (2, 3, height, width), generator=torch.manual_seed(seed)).float()
    assert_same_bits(MaxPool2(), nn.MaxPool2d(2), x)


def narrow(channels, filters, kernel, padding):
    """A convolution with pooling, as one step, and the same as two layers."""
    conv = nn.Conv2d(channels, filters, kernel, padding=padding)
    return Pooled(conv, MaxPool2(), nn.ReLU()), nn.Sequential(conv, nn.MaxPool2d(2), nn.ReLU())


@settings(deadline=None)  # a shape's first convolution is slow
@given(
    channels=st.sampled_from([1, 3]),
    filters=st.integers(1, 8),
    kernel=st.integers(4, 6),
    padding=st.integers(0, 2),
    height=sides,
    width=sides,
    count=st.integers(1, 60),
)
def test_a_narrow_convolution_with_its_pooling_gives_what_both_give(
    channels, filters, kernel, padding, height, width, count
):
    module, plain = narrow(channels, filters, kernel, padding)
    x = torch.rand(count, channels, height, width)
    x[x < 0.3] = 0  # as in handwriting: windows of equal values
    found, expected = outputs_and_gradients(module, x), outputs_and_gradients(plain, x)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() != "AVX512",
    reason="convolutions add in another order on a processor without AVX-512",
)
@pytest.mark.parametrize("count", [1, 50, 256])
@pytest.mark.parametrize(("channels", "side", "padding"), [(3, 32, 0), (1, 28, 2), (1, 8, 2)])
def test_the_first_layers_of_lenet_keep_their_bits(count, channels, side, padding):
    module, plain = narrow(channels, 6, 5, padding)
    assert_same_bits(module, plain, torch.rand(count, channels, side, side))


def test_they_are_one_step_on_images_and_two_elsewhere(monkeypatch):
    calls = []
    whole = fast_pooling.conv_max_pool
    monkeypatch.setattr(fast_pooling, "conv_max_pool", lambda *a: calls.append(a) or whole(*a))
    module, _ = narrow(3, 6, 5, 0)
    x = torch.rand(2, 3, 12, 12)
    module(x)
    assert len(calls) == 1
    module(x.contiguous(memory_format=torch.channels_last))
    module.double()(x.double())
    narrow(3, 16, 5, 0)[0](x)  # fills a register without help
    narrow(6, 6, 5, 0)[0](torch.rand(2, 6, 12, 12))
    with torch.autocast("cpu", torch.bfloat16):
        module.float()(x)
    assert len(calls) == 1


def test_a_layer_with_a_hook_is_called():
    module, _ = narrow(3, 6, 5, 0)
    heard = []
    module[0].register_forward_hook(lambda layer, inputs, out: heard.append(out.shape))
    module(torch.rand(2, 3, 12, 12))
    assert heard == [(2, 6, 8, 8)]


def test_second_derivatives_are_those_of_both_layers():
    module, plain = narrow(3, 4, 5, 1)
    x = torch.rand(5, 3, 10, 10)

    def curvature(net):
        parameters = list(net.parameters())
        first = grad(net(x).square().sum(), parameters, create_graph=True)
        return grad(sum(g.square().sum() for g in first), parameters)

    for found, expected in zip(curvature(module), curvature(plain), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["_MaxPool", "_ConvMaxPool"])
def test_few_values_are_left_to_pytorch(monkeypatch, name):
    quick = []
    function = getattr(fast_pooling, name)
    whole = function.apply
    monkeypatch.setattr(function, "apply", lambda *a: quick.append(a) or whole(*a))
    module = MaxPool2() if name == "_MaxPool" else narrow(1, 2, 4, 0)[0]
    x = torch.rand(4, 1, 11, 11)
    monkeypatch.setattr(fast_pooling, "_MANY", 4 * 2 * 11 * 11)  # the convolution counts its input
    monkeypatch.setattr(fast_pooling, "_MANY_ALONE", 4 * 11 * 11)
    module.train()(x)
    assert len(quick) == 1
    module(x[:3])
    assert len(quick) == 1

"""bfloat16 is the same with and without a processor's instructions for it."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from fedbench.core import flat_network
from fedbench.core.flat_network import Net

CPU = torch.device("cpu")


@pytest.fixture
def without_instructions(monkeypatch):
    monkeypatch.setattr(flat_network, "has_instructions", lambda: False)


@pytest.mark.parametrize(
    ("has", "expected"),
    [({"avx2": True, "amx_bf16": False}, False), ({"avx512_bf16": True}, True), ({}, False)],
)
def test_instructions_are_found_by_their_name(monkeypatch, has, expected):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: has)
    assert flat_network.has_instructions.__wrapped__() is expected  # not what is remembered


def test_factors_and_results_have_8_bits_and_sums_24(without_instructions):
    """257 has 9 bits and becomes 256; 256 + 1 + 1 is summed before it is rounded: 258."""
    ones = torch.ones(1, 3)
    with flat_network.autocast(CPU):
        assert F.linear(torch.tensor([[257.0, 0, 0]]), ones).item() == 256  # a factor
        assert F.linear(torch.tensor([[256.0, 1, 0]]), ones).item() == 256  # a result
        assert F.linear(torch.tensor([[256.0, 1, 1]]), ones).item() == 258  # a sum
        result = F.linear(ones, ones, bias=torch.tensor([257.0]))
    assert result.dtype == torch.bfloat16
    assert result.item() == 260  # the bias 257 is rounded to 256 before 3 is added, 259 after


def test_gradients_have_8_bits_too(without_instructions):
    w = torch.tensor([[1.0, 2.0]], requires_grad=True)
    with flat_network.autocast(CPU):
        F.linear(torch.tensor([[257.0, 3.0]]), w).float().sum().backward()
    assert w.grad.dtype == torch.float32
    assert w.grad.tolist() == [[256.0, 3.0]]


PRODUCTS = {
    "matmul": lambda: torch.matmul(_random(4, 3), _random(3, 5)),
    "the operator": lambda: _random(4, 3) @ _random(3, 5),
    "bmm": lambda: torch.bmm(_random(2, 4, 3), _random(2, 3, 5)),
    "addmm": lambda: torch.addmm(_random(4, 5), _random(4, 3), _random(3, 5)),
    "linear": lambda: F.linear(_random(4, 3), _random(5, 3), bias=_random(5)),
    "conv1d": lambda: F.conv1d(_random(2, 3, 9), _random(4, 3, 3), _random(4), padding=1),
    "conv2d": lambda: F.conv2d(_random(2, 3, 9, 9), _random(4, 3, 3, 3), _random(4), stride=2),
}


@pytest.mark.parametrize("product", PRODUCTS.values(), ids=PRODUCTS)
def test_a_product_is_that_of_pytorchs_own_autocast(product, monkeypatch):
    """To one unit in the last of 8 bits, as far as the order of a sum can move it."""
    results = []
    for has in (True, False):
        monkeypatch.setattr(flat_network, "has_instructions", lambda has=has: has)
        torch.manual_seed(0)
        with flat_network.autocast(CPU):
            results.append(product())
    own, ours = results
    assert own.dtype == ours.dtype == torch.bfloat16
    assert torch.allclose(own.float(), ours.float(), rtol=2**-7, atol=2**-7)
    assert (own == ours).float().mean() > 0.8


def _random(*shape):
    return torch.randn(shape)


def test_a_network_has_the_same_gradients_with_and_without(monkeypatch):
    torch.manual_seed(0)
    layers = [nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3)]
    net, x = Net(nn.Sequential(*layers), mixed=True), _random(5, 1, 8, 8)
    own, ours = (_gradient(monkeypatch, has, net, x) for has in (True, False))
    whole = _gradient(monkeypatch, True, Net(nn.Sequential(*layers)), x)
    assert (ours - own).norm() < 0.5 * (own - whole).norm()


def _gradient(monkeypatch, has, net, x):
    monkeypatch.setattr(flat_network, "has_instructions", lambda: has)
    w = net.start().w.requires_grad_()
    logits, _ = net.train(w, {}, x)
    return torch.autograd.grad(logits.square().sum(), w)[0]


def test_other_operations_and_what_follows_are_left_alone(without_instructions):
    x = torch.tensor([257.0])
    with flat_network.autocast(CPU):
        assert (x + 0).item() == 257
    assert F.linear(x, torch.ones(1, 1)).item() == 257

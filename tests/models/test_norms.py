"""Group and layer norm in plain arithmetic are PyTorch's."""

import pytest
import torch
from timm.layers.norm import LayerNorm2d
from torch import nn
from torch.nn import functional as F

from fedbench.probes.spectrum import WrittenOut

LAYERS = [
    nn.GroupNorm(2, 6),
    nn.GroupNorm(3, 6, affine=False),
    nn.LayerNorm(5),
    nn.LayerNorm([4, 5], bias=False),
    nn.LayerNorm(5, elementwise_affine=False),
    LayerNorm2d(6),  # of the channels; calls the function
]


def test_by_hand():
    # means 2 and 12, standard deviations 1 and 2
    x = torch.tensor([[1.0, 3, 10, 14]])
    with WrittenOut():
        assert F.group_norm(x, 2, eps=0).tolist() == [[-1, 1, -1, 1]]
        scaled = F.group_norm(x, 2, torch.tensor([1.0, 1, 1, 5]), torch.tensor([7.0, 0, 0, 0]), 0)
        assert scaled.tolist() == [[6, 1, -1, 5]]
        assert F.layer_norm(x.view(2, 2), [2], eps=0).tolist() == [[-1, 1], [-1, 1]]


@pytest.mark.parametrize("layer", LAYERS, ids=repr)
def test_each_layer_gives_what_pytorchs_kernel_gives(layer):
    layer = layer.double()
    for p in layer.parameters():
        nn.init.normal_(p)
    x = 3 + torch.randn(2, 6, 4, 5, dtype=torch.float64)
    with WrittenOut():
        found = layer(x)
    assert not torch.equal(found, layer(x))  # it has been written out
    torch.testing.assert_close(found, layer(x), rtol=1e-12, atol=1e-12)

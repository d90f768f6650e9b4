"""A module as a function of one flat vector, by hand."""

import torch
from torch import nn

from fedbench.core.flat_network import Net


def test_a_weight_used_twice_is_one_entry_and_feels_both_uses():
    # The same w twice: y = w (w x) = w² x; at w = 3, x = 2: y = 18 and dy/dw = 2 w x = 12.
    once = nn.Linear(1, 1, bias=False)
    net = Net(nn.Sequential(once, nn.Identity(), nn.Linear(1, 1, bias=False)))
    assert net.d == 2
    module = nn.Sequential(once, nn.Linear(1, 1, bias=False))
    module[1].weight = once.weight
    shared = Net(module)
    assert shared.d == 1
    w = torch.tensor([3.0], requires_grad=True)
    y, _ = shared.train(w, {}, torch.tensor([[2.0]]))
    (gradient,) = torch.autograd.grad(y.sum(), w)
    assert (y.item(), gradient.item()) == (18.0, 12.0)

"""bfloat16 and channels-last change rounding only; decay can spare normalisation layers."""

import pytest
import torch
from torch import nn

from fedbench import RunSpec, run
from fedbench.base import registry
from fedbench.core.flat_network import Net
from fedbench.data.dataset import Inputs

SPEC = RunSpec(
    dataset="digits", model={"rn20": {"width": 0.25, "blocks": 1}}, clients=4, participation=0.5,
    rounds=2, batch=64, lr=0.1,
)  # fmt: skip


def test_bfloat16_runs_the_network_in_half_and_everything_else_in_float32():
    module = nn.Linear(3, 2)
    net, x = Net(module, mixed=True), torch.tensor([[1.0, 1 / 3, 0.2]])
    z, features = net.train(net.start().w, {}, x)
    assert z.dtype == features.dtype == torch.float32
    halves = module.to(torch.bfloat16)(x.to(torch.bfloat16))
    assert torch.equal(z, halves.float())
    grads = torch.autograd.grad(net.train(w := net.start().w.requires_grad_(), {}, x)[0].sum(), w)
    assert grads[0].dtype == torch.float32


def test_a_bfloat16_run_is_near_the_float32_run_and_has_float32_weights():
    full = run(SPEC)
    half = run(SPEC.changed(precision="bfloat16"))
    assert half.weights.dtype == torch.float32
    difference = (half.weights - full.weights).norm() / full.weights.norm()
    assert 0 < difference < 0.05  # bfloat16 keeps eight bits


def test_bfloat16_lets_a_second_pass_of_the_classifier_agree_with_the_first():
    module = registry.build("model", "mlp", {}).build(Inputs((4,), 3))
    net, x = Net(module, mixed=True), torch.rand(5, 4)
    w = net.start().w
    z, features = net.train(w, {}, x)
    assert torch.equal(net.head(w, features), z)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_decay_spares_norm_layers_when_told(optimizer):
    """With a zero learning signal only decay moves weights: w ← w − η·λ·w, norms stay."""
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 2), nn.LayerNorm(2), nn.Linear(2, 10))
    spec = SPEC.changed(
        model="mlp", weight_decay=0.5, decay_norms=False, optimizer=optimizer, rounds=1, steps=1,
        participation=1.0,
    )  # fmt: skip
    net = Net(module)
    mask = net.norm_mask()
    assert mask.sum() == 4  # two weights and two biases
    assert Net(nn.Sequential(nn.Linear(3, 2), nn.RMSNorm(2))).norm_mask().sum() == 2
    free = run(spec, model=module, loss=lambda z, y: 0 * z.sum(1))
    moved = free.weights != net.start().w
    assert not moved[mask].any()
    assert moved[~mask].all()
    if optimizer == "sgd":
        assert torch.allclose(free.weights[~mask], net.start().w[~mask] * (1 - 0.1 * 0.5))
    everywhere = run(spec.changed(decay_norms=True), model=module, loss=lambda z, y: 0 * z.sum(1))
    weight = torch.tensor([False] * 130 + [True] * 2)  # LayerNorm's biases are 0: nothing to decay
    assert (everywhere.weights != net.start().w)[:132][weight].all()


def test_a_method_that_names_weight_decay_obeys_the_mask():
    spec = SPEC.changed(rounds=1, steps=1, participation=1.0, weight_decay=0.5)
    both = [run(spec.changed(decay_norms=on, parts=["scaffold"])).weights for on in (True, False)]
    assert not torch.equal(*both)

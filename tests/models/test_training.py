"""Every narrowed model of images as a function of its weights: alone, together and federated."""

import copy
import functools
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from fedbench import Machine, RunSpec, run
from fedbench.base import registry
from fedbench.core.flat_network import Net
from fedbench.core.stacked_network import StackedNet
from tests.few import few_digits
from tests.models.networks import DIGITS, PAIRS, SMALL, images, small

CPU = Machine(device="cpu", workers=1)
SHORT = {"rounds": 2, "clients": 3, "participation": 1.0, "steps": 2, "batch": 8}
# Without drop path, which draws random numbers.
STILL = SMALL | {"tinyvit": SMALL["tinyvit"] | {"drop_path": 0.0}}

names = pytest.mark.parametrize("name", SMALL)


@functools.cache
def fewest():
    """48 training and 12 test images: what is slow here is the networks."""
    few = few_digits()
    train, test = (few.x_train[:48], few.y_train[:48]), (few.x_test[:12], few.y_test[:12])
    return replace(few, x_train=train[0], y_train=train[1], x_test=test[0], y_test=test[1])


def trained(spec, **objects):
    return run(spec, machine=CPU, data=fewest(), **objects)


def test_every_model_is_tried_here_or_has_tests_of_its_own():
    assert registry.entries("model").keys() == SMALL.keys() | {"distilbert", "fasttext"}


@names
@pytest.mark.parametrize("inputs", [DIGITS, PAIRS], ids=["digits", "pairs"])
def test_one_step_lowers_the_loss(name, inputs):
    net, x = Net(small(name, inputs, **STILL[name])), images(inputs)
    y, w = torch.arange(len(x)), net.start().w

    def loss(w):
        return F.cross_entropy(net.train(w, {}, x)[0], y)

    assert loss(w).shape == ()
    step = 0.002  # small enough for ViT-Small, whose first gradient is the longest by far
    assert loss(w - step * torch.func.grad(loss)(w)) < loss(w)


@names
def test_the_flat_vector_gives_what_the_module_gives(name):
    module, x = small(name), images(DIGITS)
    net = Net(copy.deepcopy(module))
    for scale in (1.0, 1.1):  # the second call must not see anything of the first
        w = scale * net.start().w
        nn.utils.vector_to_parameters(w, module.parameters())
        logits, features = net.eval(net.start()._replace(w=w), x)
        torch.testing.assert_close(logits, module.eval()(x))
        torch.testing.assert_close(features, module.body(x))
        assert torch.equal(logits, module.head(features))
        assert features.shape == (6, net.features)
        assert logits.shape == (6, 10)


@names
def test_the_memory_layout_makes_no_difference(name):
    net, x = Net(small(name, PAIRS, **STILL[name])), images(PAIRS)
    w = net.start().w
    other = net.train(w, {}, x.to(memory_format=torch.channels_last))[0]
    torch.testing.assert_close(other, net.train(w, {}, x)[0])


TRANSFORMERS = {"tinyvit", "vitsmall"}


@pytest.mark.parametrize("name", sorted(TRANSFORMERS))
def test_transformers_have_layers_without_a_stacked_form(name):
    with pytest.raises(TypeError, match="has no stacked form"):
        StackedNet(Net(small(name, DIGITS, **STILL[name])))


@pytest.mark.parametrize("name", sorted(SMALL.keys() - TRANSFORMERS))
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_clients_train_together_as_alone(name, precision, together):
    # one client has six images in its second batch, the others eight
    settings = {"clients": 3, "rounds": 2, "epochs": 1, "batch": 8, "precision": precision}
    rows = [np.arange(16), np.arange(16, 30), np.arange(30, 46)]
    spec = RunSpec(
        model={name: STILL[name]}, parts=["moon"], projection=8, momentum=0.9, **settings
    )
    together(1)
    alone = trained(spec, partition=rows)
    together(3)
    found = trained(spec, partition=rows)
    assert found.record["clients_at_once"] == 3
    near = 1e-10 if precision == "float64" else 1e-4
    torch.testing.assert_close(found.weights, alone.weights, rtol=near, atol=near)
    for key, value in alone.buffers.items():
        torch.testing.assert_close(found.buffers[key], value, rtol=near, atol=near)


@names
def test_two_rounds_of_fedavg(name):
    result = trained(RunSpec(model={name: SMALL[name]}, **SHORT))
    assert result.status == "finished"
    assert result.history["loss"].notna().tolist() == [True, True]


@pytest.mark.parametrize(
    "model",
    [
        {"acnn": SMALL["acnn"] | {"top": "average"}},
        {"rn18": SMALL["rn18"] | {"stem": "imagenet", "per_group": 4}},
        {"rn50": SMALL["rn50"] | {"norm": "bn"}},
        {"vitsmall": SMALL["vitsmall"]},
    ],
)
def test_moon_on_a_projection_head(model):
    more = {"parts": ["moon"], "projection": 8, "momentum": 0.9, "lr": 0.01}
    result = trained(RunSpec(model=model, **SHORT, **more))
    assert result.status == "finished"
    counters = [v for k, v in result.buffers.items() if k.endswith("num_batches_tracked")]
    assert all(v.dtype == torch.int64 and int(v) == 4 for v in counters)
    assert bool(counters) == ("bn" in next(iter(model.values())).values())


# --- what draws random numbers ------------------------------------------------------------------


def test_drop_path_is_the_clients_own():
    spec = RunSpec(model={"tinyvit": SMALL["tinyvit"] | {"drop_path": 0.9}}, **SHORT)
    torch.manual_seed(3)
    first = trained(spec).weights
    torch.manual_seed(4)  # torch's shared generator is neither read nor moved
    before = torch.get_rng_state()
    assert torch.equal(first, trained(spec).weights)
    assert torch.equal(before, torch.get_rng_state())


def test_drop_path_acts_in_training_only():
    net, without = (Net(small("tinyvit", drop_path=share)) for share in (0.9, 0.0))
    x, w = images(DIGITS), net.start().w
    for each in (net, without):
        each.find_dropout(x)
    assert net.has_dropout
    assert not without.has_dropout
    assert not torch.equal(net.train(w, {}, x)[0], net.train(w, {}, x)[0])
    assert torch.equal(net.eval(net.start(), x)[0], net.eval(net.start(), x)[0])


def test_constants_of_a_module_are_no_state_of_a_model():
    # the windows' offsets are a buffer of timm's that its state dict does not hold
    module = small("tinyvit")
    assert dict(module.named_buffers())
    assert Net(module).start().buffers == {}
    result = trained(RunSpec(model={"tinyvit": SMALL["tinyvit"]}, **SHORT))
    assert result.buffers == {}


def test_no_biases_are_kept_from_one_call_to_the_next():
    net, x = Net(small("tinyvit")), images(DIGITS)
    start = net.start()
    first = net.eval(start, x)[0]
    moved = start._replace(w=start.w + 0.1)
    assert not torch.allclose(net.eval(moved, x)[0], first)
    fresh = Net(small("tinyvit"))
    assert torch.equal(net.eval(moved, x)[0], fresh.eval(moved, x)[0])
